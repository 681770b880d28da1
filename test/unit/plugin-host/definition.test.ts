import { describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { PluginContext, PluginDefinition } from '../../../core/contract/plugin.ts'
import type { ExtensionPoints } from '../../../core/contract/points.ts'
import { pluginHost } from '../../support/plugin-host.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

type Definition = PluginDefinition<unknown>
const POINT = 'shelf' as keyof ExtensionPoints
const SHELF = { label: 'Shelf' } as unknown as ExtensionPoints[keyof ExtensionPoints]

function plugin(name: string, rest: Partial<Definition> = {}): Definition {
  return { name, contract: 1, setup: () => undefined, ...rest }
}

async function started(...bundled: Definition[]) {
  const host = pluginHost({ bundled, folder: '.' })
  await host.start()
  const states = Object.fromEntries(host.list().map(({ name, state }) => [name, state]))
  const messages = Object.fromEntries(host.list().map(({ name, message }) => [name, message]))
  return { host, states, messages }
}

describe('a definition', () => {
  const kind = { status: 409, title: 'Full', remedy: 'Wait.' }
  test.each<[string, Partial<Definition>]>([
    ['errors', { errors: { not_owner: kind } }],
    ['its error "a_full"', { errors: { a_full: { ...kind, status: 200 } } }],
    ['its error "a_full"', { errors: { a_full: { ...kind, remedy: '' } } }],
    ['events', { events: { 'server.created': { audience: 'public' } } }],
    ['variables', { variables: { JWT_SECRET: 'secret' } }],
    ['its limit "most"', { limits: { most: 1.5 } }],
    ['migrations', { migrations: { first: async () => undefined } }],
    ['needs', { needs: ['Other'] }],
    ['its point "tools"', { points: { tools: {} } }],
  ])('that is wrong in %s fails its plugin alone', async (what, rest) => {
    const { states, messages } = await started(plugin('a', rest), plugin('b'))
    expect(states).toEqual({ a: 'failed', b: 'running' })
    expect(messages.a).toContain(what)
  })

  test.each(['healthCheck', 'metric'] as const)('names what is contributed to "%s"', async point => {
    const setup = (context: PluginContext<unknown>) => {
      context.contribute(point, 'shelf', { state: () => ({ state: 'ok' }), numbers: () => [] })
      return undefined
    }
    const declared = {
      healthChecks: { shelf: { states: ['ok'], degraded: [], absent: 'ok' } },
      metrics: { shelf: { type: 'gauge', help: 'Books', absent: [] } },
    } as const satisfies Partial<Definition>
    expect((await started(plugin('a', { setup, ...declared }))).states).toEqual({ a: 'running' })
    const { states, messages } = await started(plugin('a', { setup }))
    expect(states).toEqual({ a: 'failed' })
    expect(messages.a).toContain(`its contribution "shelf" to "${point}" is not named in`)
  })

  const shop = { kind: 'shops', title: 'shop', schema: z.object({ url: z.string() }), most: 2, example: { url: 'a' } }
  test.each<[string, object]>([
    ['the kind is no word', { kind: 'Shops' }],
    ['it has no title', { title: '' }],
    ['"most" is no whole number', { most: 0 }],
    ['its secret "url" is no JSON Pointer', { secrets: ['url'] }],
    ['its schema is none of an object', { schema: z.string() }],
    ['every record has a "owner"', { schema: z.object({ owner: z.string() }), example: { owner: 'a' } }],
    ['its example does not fit its schema', { example: { url: 1 } }],
    ['its example does not fit its schema', { example: { url: 'a', more: 1 } }],
  ])('of records is refused where %s', async (what, change) => {
    const setup = ({ records }: PluginContext<unknown>) => {
      records.define({ ...shop, ...change })
      return undefined
    }
    const { states, messages } = await started(plugin('a', { setup }))
    expect(states.a).toBe('failed')
    expect(messages.a).toContain(what)
  })

  test('says what has to run before: in that order, without a circle, and `?` may be missing', async () => {
    const order: string[] = []
    const noting = (name: string, needs: readonly string[]) =>
      plugin(name, {
        needs,
        setup: () => {
          order.push(name)
          return undefined
        },
      })
    const { states, messages } = await started(
      noting('last', ['middle', 'absent?']),
      noting('middle', ['first']),
      noting('first', []),
      noting('one', ['other']),
      noting('other', ['one']),
      noting('lonely', ['absent']),
    )
    expect(order).toEqual(['first', 'middle', 'last'])
    expect(states).toEqual({
      ...{ first: 'running', middle: 'running', last: 'running' },
      ...{ one: 'failed', other: 'failed', lonely: 'failed' },
    })
    expect(messages.lonely).toContain('needs plugin "absent"')
    expect(messages.one).toContain('needs plugin "other"')
    expect(messages.one).toContain('"one" → "other" → "one"')
    expect(messages.other).toContain('"other" → "one" → "other"')
    expect(messages.lonely).not.toContain('→')
  })

  test('has points of its own: for one owner, whose contributions wait for it', async () => {
    let own: PluginContext<unknown> | undefined
    const keep = (context: PluginContext<unknown>) => {
      own = context
      return undefined
    }
    const { host, states, messages } = await started(
      plugin('early', { setup: context => void context.contribute(POINT, 'early', SHELF) as undefined }),
      plugin('owner', { points: { shelf: {} }, setup: keep }),
      plugin('second', { points: { shelf: {} } }),
      plugin('late', { setup: context => void context.contribute(POINT, 'late', SHELF) as undefined }),
      plugin('same', { setup: context => void context.contribute(POINT, 'late', SHELF) as undefined }),
      plugin('curious', { setup: context => void context.contributions(POINT) as undefined }),
    )
    expect([...(own?.contributions(POINT).keys() ?? [])]).toEqual(['early', 'late'])
    expect(states).toMatchObject({ second: 'failed', curious: 'failed' })
    expect(messages.second).toContain('there already, of owner')
    expect(messages.curious).toContain('for plugin "owner" alone')
    await host.configure({ kind: 'system', purpose: 'test' }, 'owner', { enabled: false })
    expect(own?.contributions(POINT).size).toBe(0)
    // The first of two contributions with one id holds, also while both wait.
    await host.configure({ kind: 'system', purpose: 'test' }, 'same', { enabled: true })
    const same = host.list().find(({ name }) => name === 'same')
    expect([same?.state, same?.message]).toEqual(['failed', '"shelf" has a contribution "late" already'])
    const early = () => host.list().find(({ name }) => name === 'early')
    expect([early()?.contributions, early()?.waiting]).toEqual([[], ['shelf/early']])
    await host.configure({ kind: 'system', purpose: 'test' }, 'late', { enabled: false })
    await host.configure({ kind: 'system', purpose: 'test' }, 'owner', { enabled: true })
    expect([...(own?.contributions(POINT).keys() ?? [])]).toEqual(['early'])
    expect(early()?.contributions).toEqual(['shelf/early'])
  })

  test('of a plugin from elsewhere does not take the name of a bundled one, even of one that is off', async () => {
    const folder = await makeTemp('named')
    const source = `export default { name: 'keys', contract: 1, setup: () => undefined }`
    await writeFile(join(folder, 'keys.ts'), source, { mode: 0o600 })
    const entries = [{ use: 'keys', enabled: false }, ...[true, false].map(isolate => ({ use: './keys.ts', isolate }))]
    const host = pluginHost({ bundled: [plugin('keys')], entries, folder })
    await host.start()
    const [bundled, ...others] = host.list()
    expect(bundled?.state).toBe('disabled')
    for (const other of others) expect(other).toMatchObject({ state: 'failed', bundled: false })
    for (const { message } of others) expect(message).toContain('another plugin is named "keys" already')
    await host.stop()
    await removeTemp(folder)
  })
})
