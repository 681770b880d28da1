import { expect, test } from 'bun:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ExtensionPoints, PluginContext, TransportContribution } from 'patchbay/contract'
import plugin from '../../../plugins/transport-http/plugin.ts'

test('transport-http contributes a transport whose module and schema can be used', async () => {
  const contributed = new Map<string, TransportContribution>()
  const contribute = <P extends keyof ExtensionPoints>(
    point: P,
    id: string,
    contribution: ExtensionPoints[P],
  ): void => {
    expect<string>(point).toBe('transport')
    contributed.set(id, contribution as TransportContribution)
  }
  await plugin.setup({ contribute } as unknown as PluginContext<undefined>)
  const transport = contributed.get('streamable-http')
  expect(transport?.transport).toBe('streamable-http')
  expect((await import(transport?.module ?? '')).default.kind).toBe('messages')
  const valid = new Ajv2020({ strict: false, validateFormats: false }).compile(transport?.configSchema ?? false)
  expect(valid({ url: 'https://example.com/mcp', headers: { a: 'b' } })).toBe(true)
  expect(valid({ headers: {} })).toBe(false)
  expect(valid({ url: 'https://example.com/mcp', headers: { a: 1 } })).toBe(false)
  expect(valid({ url: 'https://example.com/mcp', command: 'x' })).toBe(false)
})
