/** Stdio: reads nothing any more once a tool was called. */
import { handleBasics, onMessages, tool } from './lines.ts'

onMessages(message => {
  if (handleBasics(message, 'unread', [tool('stop', 'Stops reading')])) return
  // The thread is blocked, and the pipe fills.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
