import { HubError } from 'patchbay/contract'
import { defineTransport } from 'patchbay/transport-kit'

const SLOW = {
  code: 'overloaded',
  message: 'The server reads its standard input more slowly than calls come: too many bytes are waiting for it',
} as const

/** One JSON-RPC message per line of the child's stdin and stdout. */
export default defineTransport({
  kind: 'messages',
  async open(_config, io) {
    const { child } = io
    if (!child) throw new HubError('spawn_failed', 'A stdio server was opened without a process')
    child.onLine(line => io.message(line))
    return {
      send(text, id) {
        if (!child.write(text) && id !== undefined) io.failed(id, SLOW)
      },
      async close() {
        child.end()
      },
    }
  },
})
