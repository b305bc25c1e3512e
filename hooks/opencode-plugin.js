// Put here by `loop init --turn-hooks`; `loop uninstall` takes this file away.
// Tells loop's router when OpenCode begins a turn, ends it, or asks for something.
import { spawn } from "node:child_process"

const LOOP = @LOOP@

export const Loop = async ({ client, directory }) => {
  const children = new Map()

  // Sessions that a session has begun by itself are no turns of this agent.
  const isChild = async (id) => {
    if (!children.has(id)) {
      try {
        const answer = await client.session.get({ path: { id } })
        children.set(id, Boolean(answer?.data?.parentID))
      } catch {
        return false
      }
    }
    return children.get(id)
  }

  const tell = async (id, fields) => {
    if (!id || (await isChild(id))) return
    try {
      const child = spawn(LOOP, ["turn-hook", "opencode"], { stdio: ["pipe", "ignore", "ignore"] })
      child.on("error", () => {})
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify({ session_id: id, cwd: directory, ...fields }))
      child.unref()
    } catch {}
  }

  return {
    "chat.message": async (input, output) => {
      const texts = (output?.parts ?? []).filter((part) => part.type === "text").map((part) => part.text)
      await tell(input.sessionID, { event: "started", prompt: texts.join("\n").slice(0, 4000) })
    },
    event: async ({ event }) => {
      const about = event.properties ?? {}
      if (event.type === "session.created" && about.info?.id) {
        children.set(about.info.id, Boolean(about.info.parentID))
      } else if (event.type === "session.idle") {
        await tell(about.sessionID, { event: "finished" })
      } else if (event.type === "permission.asked") {
        await tell(about.sessionID, { event: "asks", says: `asks for a permission: ${about.permission}` })
      } else if (event.type === "question.asked") {
        await tell(about.sessionID, { event: "asks", says: "asks a question" })
      }
    },
  }
}
