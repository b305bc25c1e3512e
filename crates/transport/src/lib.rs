//! Ways to reach an agent: tmux, exec, command, wait
