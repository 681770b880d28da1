import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createTokens } from '../../core/auth/tokens.ts'
import { HubError } from '../../core/contract/errors.ts'
import type { JsonValue } from '../../core/contract/json.ts'
import { Pages } from '../../core/mcp/call/pages.ts'
import { Redactor } from '../../core/secrets/redact.ts'
import { createSealer, isSealed } from '../../core/secrets/seal.ts'
import { check, hostileText, jsonValue } from '../support/fuzz.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:='
const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)
const sealer = createSealer([key(1), key(2)])
const stranger = createSealer([key(3)])

/** The text with one character changed, left out, doubled, or another put in. */
function spoiled(text: string, at: number, how: number): string {
  const place = at % text.length
  const other =
    ALPHABET[(ALPHABET.indexOf(text[place] ?? '') + 1 + (how % (ALPHABET.length - 1))) % ALPHABET.length] ?? ''
  const middle = [other, '', `${text[place]}${text[place]}`, `${text[place]}${other}`][how % 4] ?? ''
  return text.slice(0, place) + middle + text.slice(place + 1)
}

describe('seals', () => {
  test('a sealed value opens in its own place alone, and with nothing changed', async () => {
    const place = fc.record({ owner: fc.string(), record: fc.string(), field: fc.string() })
    await check(
      fc.property(hostileText('é'), place, place, fc.nat(), fc.nat(), (text, here, there, at, how) => {
        const plain = text.toWellFormed()
        const sealed = sealer.seal('server', here, plain)
        expect(isSealed(sealed) || plain === '').toBe(true)
        expect(sealer.open('server', here, sealed)).toBe(plain)
        const same = JSON.stringify(here) === JSON.stringify(there)
        if (!same) expect(() => sealer.open('server', there, sealed)).toThrow(HubError)
        expect(() => sealer.open('other', here, sealed)).toThrow(HubError)
        expect(() => stranger.open('server', here, sealed)).toThrow(HubError)
        const changed = spoiled(sealed, at, how)
        try {
          // Base64 has spare bits at its end, which mean nothing: what opens must be the same text.
          expect(sealer.open('server', here, changed)).toBe(plain)
          expect(changed.length - sealed.length).toBeWithin(-1, 2)
        } catch (error) {
          expect(error).toBeInstanceOf(HubError)
        }
      }),
    )
  })

  test('any flipped bit of a sealed token refuses it, and so does any other text', async () => {
    await check(
      fc.property(jsonValue(), fc.nat(), (value, bit) => {
        const token = sealer.sealToken('session', value as JsonValue)
        expect(JSON.stringify(sealer.openToken('session', token))).toBe(JSON.stringify(value))
        const bytes = Buffer.from(token, 'base64url')
        const place = bit % (bytes.length * 8)
        bytes[place >> 3] = (bytes[place >> 3] ?? 0) ^ (1 << (place & 7))
        expect(sealer.openToken('session', bytes.toString('base64url'))).toBeUndefined()
        expect(sealer.openToken('mcp-cursor', token)).toBeUndefined()
        expect(stranger.openToken('session', token)).toBeUndefined()
      }),
    )
    await check(
      fc.property(jsonValue(1), fc.nat(), fc.nat(), hostileText('A', '_', '-'), (value, at, how, other) => {
        const token = sealer.sealToken('session', value as JsonValue)
        const changed = spoiled(token, at, how)
        if (changed !== token) expect(sealer.openToken('session', changed)).toBeUndefined()
        expect(sealer.openToken('session', other)).toBeUndefined()
      }),
    )
  })
})

describe('session tokens', () => {
  const secret = 'a secret of the hub that is long enough for it'
  const tokens = createTokens({ secret, instanceId: 'one' })
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'taken',
      (error: unknown) => (error instanceof HubError ? error.code : String(error)),
    )

  test('any flipped bit of header, claims or signature refuses a token', async () => {
    const { token } = await tokens.issue({ id: 'ann', role: 'user', tokenEpoch: 3 })
    expect((await tokens.verify(token)).userId).toBe('ann')
    await check(
      fc.asyncProperty(fc.nat(2), fc.nat(), async (part, bit) => {
        const sections = token.split('.')
        const bytes = Buffer.from(sections[part] ?? '', 'base64url')
        const place = bit % (bytes.length * 8)
        bytes[place >> 3] = (bytes[place >> 3] ?? 0) ^ (1 << (place & 7))
        sections[part] = bytes.toString('base64url')
        expect(await codeOf(tokens.verify(sections.join('.')))).toBe('token_invalid')
      }),
    )
  })

  test('claims of any kind without the signature, another hub’s token, and any text are refused with a code', async () => {
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const algorithm = fc.constantFrom('none', 'HS256', 'HS512', 'RS256', 'ES256', '', null)
    await check(
      fc.asyncProperty(algorithm, jsonValue(2), hostileText('.', 'e30', 'eyJ'), async (alg, claims, text) => {
        expect(
          await codeOf(
            tokens.verify(`${part({ alg, typ: 'JWT' })}.${part(claims)}.${Buffer.from(text).toString('base64url')}`),
          ),
        ).toMatch(/^token_/)
        expect(await codeOf(tokens.verify(text))).toMatch(/^token_/)
        const other = createTokens({ secret, instanceId: 'two' })
        const foreign = await other.issue({ id: 'ann', role: 'admin', tokenEpoch: 3 })
        expect(await codeOf(tokens.verify(foreign.token))).toBe('token_invalid')
      }),
      { share: 0.5 },
    )
  })
})

describe('cursors', () => {
  test('pages give every item once in order; a foreign, changed or made-up cursor is refused', async () => {
    const pages = new Pages(sealer, 'mark')
    await check(
      fc.property(fc.array(fc.nat(3), { maxLength: 12 }), fc.nat(), fc.nat(), hostileText(), (sizes, at, how, text) => {
        const items = sizes.flatMap((size, server) =>
          Array.from({ length: size * 300 }, (_, index) => ({
            key: `${server}/${index}`,
            serverId: `${server}`,
            text: `"${server}/${index}"`,
          })),
        ) as unknown as Parameters<Pages['page']>[1]
        const seen: string[] = []
        let cursor: string | undefined
        do {
          const page: { tools: string[]; nextCursor?: string } = JSON.parse(
            pages.page('tools', items, 'ann/all', cursor, true),
          )
          seen.push(...page.tools)
          cursor = page.nextCursor
          if (cursor === undefined) break
          const known = cursor
          for (const wrong of [spoiled(known, at, how), text]) {
            if (wrong !== known) expect(() => pages.page('tools', items, 'ann/all', wrong, true)).toThrow(HubError)
          }
          expect(() => pages.page('prompts', items, 'ann/all', known, true)).toThrow(HubError)
          expect(() => pages.page('tools', items, 'bob/all', known, true)).toThrow(HubError)
        } while (seen.length <= items.length)
        expect(seen).toEqual(items.map(item => item.key))
      }),
      { share: 0.1 },
    )
  })
})

describe('redaction', () => {
  test('no secret is left in a text in any of its forms, and nothing else is lost', async () => {
    const secret = hostileText('s3cret', '"', '\\', ' ', '+', '/', 'é')
      .map(text => text.toWellFormed())
      .filter(text => text.length >= 8)
    const form = fc.constantFrom<((text: string) => string)[]>(
      text => text,
      text => JSON.stringify(text).slice(1, -1),
      text => encodeURIComponent(text),
      text => Buffer.from(text).toString('base64'),
      text => Buffer.from(`user:${text}`).toString('base64url'),
    )
    await check(
      fc.property(secret, form, fc.string(), fc.string(), (hidden, write, before, behind) => {
        const redactor = new Redactor([hidden])
        const text = `${before}${write(hidden)}${behind}`
        const out = redactor.text(text)
        expect(out).toContain('[redacted]')
        expect(out.replaceAll('[redacted]', '')).not.toContain(hidden)
        expect(redactor.text(before.slice(0, 5))).toBe(before.slice(0, 5))
      }),
    )
  })
})
