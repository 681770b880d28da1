import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pluginHost } from '../../support/plugin-host.ts'

const SOURCE = `
import { CONTRACT, definePlugin } from 'patchbay/contract'
import { SseParser, TRANSPORT_KIT } from 'patchbay/transport-kit'
export default definePlugin({
  name: 'outside',
  contract: CONTRACT,
  setup(context) {
    context.contribute('routes', 'kit', {
      path: 'kit',
      access: 'public',
      fetch: async () => Response.json([CONTRACT, TRANSPORT_KIT, typeof SseParser]),
    })
    return undefined
  },
})
`
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plugin-'))
  await writeFile(join(folder, 'plugin.ts'), SOURCE, { mode: 0o600 })
})
afterAll(() => rm(folder, { recursive: true }))

test.each([true, false])(
  'a plugin outside of the repository imports the contract and the kit; isolated: %p',
  async isolate => {
    const host = pluginHost({ entries: [{ use: './plugin.ts', isolate }], folder })
    try {
      await host.start()
      expect(host.list()).toMatchObject([{ name: 'outside', state: 'running', isolated: isolate }])
      const answer = await host.routes.free('outside', 'kit')?.fetch(new Request('http://hub/'), undefined)
      expect(await answer?.json()).toEqual([1, 1, 'function'])
    } finally {
      await host.stop()
    }
  },
)
