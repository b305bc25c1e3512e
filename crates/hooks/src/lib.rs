//! The notifier in git: install, prove and remove the post-commit hook, and ring the router
