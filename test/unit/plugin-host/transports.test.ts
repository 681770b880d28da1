import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pluginHost } from '../../support/plugin-host.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { bundledTransports } from '../../support/transports.ts'

let folder: string
beforeAll(async () => {
  folder = await makeTemp('transports')
})
afterAll(() => removeTemp(folder))

const source = (transport: string, configSchema: object): string => `
import { definePlugin } from 'patchbay/contract'
export default definePlugin({
  name: 'brings-a-transport',
  contract: 1,
  setup(context) {
    context.contribute('transport', 'it', {
      label: 'It', transport: '${transport}', module: import.meta.url, configSchema: ${JSON.stringify(configSchema)},
    })
    return undefined
  },
})
`

/** Starts a plugin that contributes this transport; the state of the plugin, why it failed, and the names there are. */
async function started(transport: string, configSchema: object, isolate: boolean) {
  const use = `./${crypto.randomUUID()}.ts`
  await writeFile(join(folder, use), source(transport, configSchema), { mode: 0o600 })
  const transports = bundledTransports()
  const host = pluginHost({ transports, entries: [{ use, isolate }], folder })
  try {
    await host.start()
    const [plugin] = host.list()
    return { state: plugin?.state, message: plugin?.message, names: transports.all().map(({ name }) => name) }
  } finally {
    await host.stop()
    expect(transports.all()).toHaveLength(4)
  }
}

test.each([true, false])('a transport is known while its plugin runs; isolated: %p', async isolate => {
  const { state, names } = await started('it', { type: 'object' }, isolate)
  expect([state, names.at(-1)]).toEqual(['running', 'it'])
})

const property = (schema: object): object => ({ type: 'object', properties: { field: schema } })

test.each([
  ['stdio', {}, 'is offered by another plugin already'],
  ['In Capitals', {}, 'needs a name of lower-case letters'],
  ['it', property({ oneOf: [] }), '#/properties/field has the keyword "oneOf"'],
  ['it', property({ type: ['string', 'null'] }), '#/properties/field/type is no single type'],
  ['it', property({ type: 'string', pattern: '(' }), '#/properties/field/pattern is no regular expression'],
  ['it', { type: 'object', properties: { timeout: {} } }, 'has a field "timeout", which every server has'],
])('a transport %p with the schema %p fails its plugin', async (transport, schema, why) => {
  for (const isolate of [true, false]) {
    const { state, message } = await started(transport, schema, isolate)
    expect(state).toBe('failed')
    expect(message).toContain(why)
  }
})
