/**
 * Stdio: starts a process in a session of its own, as a build tool's daemon does; `pids` tells both process ids.
 * SECONDS: how long that one sleeps, 600 by default.
 */
import { spawn } from 'node:child_process'
import { handleBasics, onMessages, sendText, tool } from './lines.ts'

// detached makes it leader of a new session and process group.
const detached = process.env.SETSID !== '0'
const grandchild = spawn('sleep', [process.env.SECONDS ?? '600'], { stdio: 'ignore', detached })
if (detached) grandchild.unref()

onMessages(message => {
  if (handleBasics(message, 'grandchild', [tool('pids', 'Process ids of child and grandchild')])) return
  sendText(message.id, JSON.stringify({ child: process.pid, grandchild: grandchild.pid }))
})
