import { HubError } from 'patchbay/contract'
import { defineTransport } from 'patchbay/transport-kit'

/** One JSON-RPC message per line of the child's stdin and stdout. */
export default defineTransport({
  kind: 'messages',
  async open(_config, io) {
    const { child } = io
    if (!child) throw new HubError('spawn_failed', 'A stdio server was opened without a process')
    child.onLine(line => io.message(line))
    return {
      send: text => child.write(text),
      async close() {
        child.end()
      },
    }
  },
})
