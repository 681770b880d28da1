import { expect, test } from 'bun:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ExtensionPoints, PluginContext, TransportContribution } from 'patchbay/contract'
import plugin from '../../../plugins/transport-openapi/plugin.ts'

test('transport-openapi contributes a transport whose module and schema can be used', async () => {
  const contributed = new Map<string, TransportContribution>()
  const contribute = <P extends keyof ExtensionPoints>(point: P, id: string, one: ExtensionPoints[P]): void => {
    expect<string>(point).toBe('transport')
    contributed.set(id, one as TransportContribution)
  }
  await plugin.setup({ contribute } as unknown as PluginContext<undefined>)
  const transport = contributed.get('openapi')
  expect([transport?.transport, transport?.kind]).toEqual(['openapi', 'answers'])
  expect((await import(transport?.module ?? '')).default.kind).toBe('answers')
  const valid = new Ajv2020({ strict: false, validateFormats: false }).compile(transport?.configSchema ?? false)
  expect(valid({ openapi: { url: 'https://a/', auth: { key: 'x', b: { token: 't' } } }, headers: { a: 'b' } })).toBe(
    true,
  )
  expect(valid({ openapi: { schema: {}, auth: { type: 'bearer', token: 't' }, operations: { include: ['a'] } } })).toBe(
    true,
  )
  for (const openapi of [undefined, {}, { url: 'https://a/', schema: {} }, { url: 'https://a/', more: 1 }]) {
    expect(valid({ openapi })).toBe(false)
  }
})
