import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { suggestNames } from '../../core/domain/nearest.ts'
import { aliases, exposeNames } from '../../core/mcp/scope/naming.ts'
import { Steps, UriTemplate } from '../../core/mcp/scope/uri-template.ts'
import { mapResultUris, UriTable } from '../../core/mcp/scope/uris.ts'
import { cutBytes, pieceEnd } from '../../core/transport-kit/cut-text.ts'
import { check, hostileText, jsonValue } from '../support/fuzz.ts'

const toolName = hostileText(
  ...['a', 'b', '_', 'get', ' ', '.', 'é', 'e\u0301', 'x'.repeat(70), 'a_b', '__proto__'],
  ...['天气', '城市', 'ь', '😀', '\ue000', '\ud83d'],
)

describe('exposed names', () => {
  const items = fc
    .uniqueArray(fc.tuple(fc.constantFrom('s1', 's2', 's3'), toolName, toolName), {
      maxLength: 10,
      selector: ([server, original]) => `${server} ${original}`,
    })
    .map(all => all.map(([serverId, original, wanted]) => ({ serverId, alias: `alias-${serverId}`, original, wanted })))

  test('are legal, unique, and the same in whatever order the items come', async () => {
    await check(
      fc.property(
        items,
        fc.constantFrom('plain', 'auto', 'prefixed'),
        fc.infiniteStream(fc.nat()),
        (all, mode, order) => {
          const names = exposeNames('tools', mode as 'auto', all)
          for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
          expect(new Set(names).size).toBe(all.length)
          const shuffled = all
            .map((item, index) => ({ item, index, key: order.next().value }))
            .sort((a, b) => (a.key ?? 0) - (b.key ?? 0))
          const again = exposeNames(
            'tools',
            mode as 'auto',
            shuffled.map(({ item }) => item),
          )
          expect(again).toEqual(shuffled.map(({ index }) => names[index] as string))
        },
      ),
    )
    await check(
      fc.property(fc.uniqueArray(fc.tuple(fc.uuid(), toolName), { maxLength: 8, selector: ([id]) => id }), members => {
        const found = aliases(members.map(([serverId, serverName]) => ({ serverId, serverName })))
        expect(new Set(found).size).toBe(members.length)
      }),
    )
  })

  test('near names are three at most, of those that are known', async () => {
    await check(
      fc.property(toolName, fc.array(toolName, { maxLength: 8 }), (name, known) => {
        const near = suggestNames(name, known)
        expect(near.length).toBeLessThanOrEqual(3)
        for (const one of near) expect(known).toContain(one)
      }),
    )
  })
})

describe('URIs', () => {
  const uri = hostileText('file:///', 'a', '/', '?', '#', 'é', 'patchbay://', 'ui://', 'one/', 'two/', '{id}', '%20')

  test('a template matches every expansion of itself', async () => {
    const simple = fc.stringMatching(/^[A-Za-z0-9_.~%-]{0,6}$/)
    const open = fc.stringMatching(/^[A-Za-z0-9_.~/?#&=,:-]{0,6}$/)
    const part = fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9:/?#.]{1,5}$/).map(text => [text, text] as const),
      simple.map(value => ['{v}', value] as const),
      open.map(value => ['{+v}', value] as const),
      open.map(value => ['{/v*}', value] as const),
    )
    await check(
      fc.property(fc.array(part, { maxLength: 8 }), parts => {
        const template = new UriTemplate(parts.map(([text]) => text).join(''))
        expect(template.matches(parts.map(([, value]) => value).join(''), new Steps(1_000_000))).toBe(true)
      }),
    )
    await check(
      fc.property(uri, uri, (template, text) =>
        expect(new UriTemplate(template).matches(text, new Steps(1_000_000))).toBeBoolean(),
      ),
    )
  })

  test('names shown to a client lead back to the member and the URI that they replace', async () => {
    const member = (serverId: string, alias: string) =>
      fc.record({
        serverId: fc.constant(serverId),
        alias: fc.constant(alias),
        uris: fc.array(uri, { maxLength: 4 }),
        templates: fc.array(uri, { maxLength: 2 }),
        readsUnlisted: fc.boolean(),
      })
    await check(
      fc.property(member('s1', 'one'), member('s2', 'two'), fc.boolean(), (one, two, keepsSchemes) => {
        const table = new UriTable([one, two], { keepsSchemes })
        for (const { serverId, uris } of [one, two]) {
          for (const original of uris) {
            const shown = table.publicUri(serverId, original)
            expect(table.resolve(shown)).toEqual({ serverId, original })
          }
        }
      }),
    )
    await check(
      fc.property(jsonValue(), result => {
        expect(mapResultUris(result as never, text => text)).toEqual(result as never)
      }),
    )
  })
})

describe('cut texts', () => {
  const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
  const text = hostileText('é', '😀', 'x', '\ud83d', '\ude00', '\u0301')

  test('are the longest whole characters within the bytes, and the pieces make up the whole', async () => {
    await check(
      fc.property(text, fc.integer({ min: 4, max: 40 }), (whole, maxBytes) => {
        const cut = cutBytes(whole, maxBytes)
        expect(whole.startsWith(cut)).toBe(true)
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxBytes)
        if (cut !== whole && whole.isWellFormed()) {
          // A pile of marks that does not fit is cut inside.
          const places = [...graphemes.segment(whole)].map(({ index }) => index)
          const next = places.includes(cut.length)
            ? (places.find(place => place > cut.length) ?? whole.length)
            : cut.length + String.fromCodePoint(whole.codePointAt(cut.length) ?? 0).length
          expect(Buffer.byteLength(whole.slice(0, next))).toBeGreaterThan(maxBytes)
        }
        let from = 0
        let pieces = ''
        for (let rounds = 0; from < whole.length && rounds <= whole.length; rounds += 1) {
          const end = pieceEnd(whole, from, maxBytes)
          pieces += whole.slice(from, end)
          expect(end).toBeGreaterThan(from)
          from = end
        }
        expect(pieces).toBe(whole)
      }),
    )
  })
})
