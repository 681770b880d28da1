/**
 * Stdio: starts a process in a session of its own, as a build tool's daemon does; `pids` returns both process ids. SECONDS:
 * duration of that process, 600 by default. With HOLDS=1 it has this server's standard output too.
 */
import { spawn } from 'node:child_process'
import { handleBasics, onMessages, sendText, tool } from './lines.ts'

// detached makes it leader of a new session and process group.
const detached = process.env.SETSID !== '0'
const output = process.env.HOLDS === '1' ? 'inherit' : 'ignore'
const grandchild = spawn('sleep', [process.env.SECONDS ?? '600'], { stdio: ['ignore', output, 'ignore'], detached })
if (detached) grandchild.unref()

onMessages(message => {
  if (handleBasics(message, 'grandchild', [tool('pids', 'Process ids of child and grandchild')])) return
  sendText(message.id, JSON.stringify({ child: process.pid, grandchild: grandchild.pid }))
})
