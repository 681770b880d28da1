import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { LIMITS } from '../../../core/config/limits.ts'
import { readHubKeys } from '../../../core/secrets/key-file.ts'
import { openMasterKeys } from '../../../core/secrets/master-keys.ts'
import { secretParts } from '../../../core/secrets/parts.ts'
import { isSecretKey, Redactor } from '../../../core/secrets/redact.ts'
import { createSealer, isSealed } from '../../../core/secrets/seal.ts'
import { atMost } from '../../support/pace.ts'

const place = { owner: 'u1', record: 's1', field: '/env/API_KEY' }
const code = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    return (error as { code?: string }).code
  }
  return 'opened'
}

describe('sealer', () => {
  const key = randomBytes(32)
  const sealer = createSealer([key])

  test('opens what it sealed, in the same place only', () => {
    const sealed = sealer.seal('server', place, 'canary ü')
    expect(sealed).toMatch(/^enc:v1:[0-9a-f]{8}:[A-Za-z0-9_-]+$/)
    expect(isSealed(sealed)).toBe(true)
    expect(sealer.open('server', place, sealed)).toBe('canary ü')
    for (const other of [{ owner: 'u2' }, { record: 's2' }, { field: '/env/OTHER' }]) {
      expect(code(() => sealer.open('server', { ...place, ...other }, sealed))).toBe('config_invalid')
    }
    expect(code(() => sealer.open('setting', place, sealed))).toBe('config_invalid')
    expect(code(() => createSealer([randomBytes(32)]).open('server', place, sealed))).toBe('config_invalid')
  })

  test('notices every changed character', () => {
    const sealed = sealer.seal('server', place, 'x')
    for (let at = 0; at < sealed.length; at += 1) {
      for (const other of ['A', 'B', 'Q', 'g', 'w'].filter(each => each !== sealed[at])) {
        const changed = sealed.slice(0, at) + other + sealed.slice(at + 1)
        expect(code(() => sealer.open('server', place, changed))).toBe('config_invalid')
      }
    }
  })

  test('never seals a text the same way twice', () => {
    expect(sealer.seal('server', place, 'x')).not.toBe(sealer.seal('server', place, 'x'))
  })

  test('opens what the previous key sealed while keys are exchanged', () => {
    const old = sealer.seal('server', place, 'x')
    const both = createSealer([randomBytes(32), key])
    expect(both.open('server', place, old)).toBe('x')
    expect(code(() => sealer.open('server', place, both.seal('server', place, 'x')))).toBe('config_invalid')
    expect(both.openToken('session', sealer.sealToken('session', 5))).toBe(5)
  })

  test('wants one or two keys of 32 bytes', () => {
    for (const keys of [[], [key, key, key], [randomBytes(31)]]) expect(() => createSealer(keys)).toThrow(RangeError)
  })

  test('tokens give back their value, and nothing for anything else', () => {
    const token = sealer.sealToken('session', { user: 'u1', n: [1] })
    expect(token).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(sealer.openToken('session', token)).toEqual({ user: 'u1', n: [1] })
    expect(sealer.openToken('cursor', token)).toBeUndefined()
    expect(sealer.openTokenBytes('raw', sealer.sealTokenBytes('raw', new Uint8Array([0, 255])))).toEqual(
      Buffer.from([0, 255]),
    )
    fc.assert(
      fc.property(fc.string(), text => {
        expect(sealer.openToken('session', text)).toBeUndefined()
      }),
    )
  })

  test('100,000 session ids are all different [CVE-2025-6515]', () => {
    const ids = Array.from({ length: 100_000 }, () => sealer.sealToken('mcp-session', 'alice.2025-06-18.1'))
    expect(new Set(ids).size).toBe(100_000)
    // They have no common part by which another id could be guessed.
    expect(new Set(ids.map(id => id.slice(0, 16))).size).toBe(100_000)
  })

  test('a token longer than the hub makes any is not looked at', () => {
    const text = 'x'.repeat(LIMITS.sealedTokenCharacters / 2)
    expect(sealer.openToken('session', sealer.sealToken('session', text))).toBe(text)
    expect(sealer.openToken('session', sealer.sealToken('session', `${text}${text}`))).toBeUndefined()
  })

  test('a token has one spelling', () => {
    const token = sealer.sealToken('session', 'ab')
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const others = [...alphabet].map(last => token.slice(0, -1) + last).filter(other => other !== token)
    expect(others.filter(other => sealer.openToken('session', other) !== undefined)).toEqual([])
  })
})

describe('readHubKeys()', () => {
  test('makes keys once, in files that only their owner reads', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'patchbay-keys-'))
    const all = async () => ({
      ...(await readHubKeys(dataDir)),
      ring: await openMasterKeys(dataDir, {}, new Set(), false),
    })
    const [made, twin] = await Promise.all([all(), all()])
    expect(made).toEqual(twin)
    expect(made.ring).toMatchObject([{ from: 'master.key', kid: expect.stringMatching(/^[0-9a-f]{8}$/) }])
    expect(made.ring[0]?.key.length).toBe(32)
    expect(made.ring[0]?.key).not.toEqual(made.jwtSecret)
    expect((await readdir(dataDir)).sort()).toEqual(['instance-id', 'jwt.key', 'master.key'])
    await chmod(join(dataDir, 'master.key'), 0o644)
    expect(await all()).toEqual(made)
    for (const file of await readdir(dataDir)) expect((await stat(join(dataDir, file))).mode & 0o777).toBe(0o600)
    await rm(dataDir, { recursive: true })
  })

  test('never replaces a file that is no key', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'patchbay-keys-'))
    for (const text of ['', 'short', `${'A'.repeat(43)}!`]) {
      await writeFile(join(dataDir, 'master.key'), text)
      await expect(openMasterKeys(dataDir, {}, new Set(), true)).rejects.toThrow('does not hold a key')
      expect(await readFile(join(dataDir, 'master.key'), 'utf8')).toBe(text)
    }
    await rm(dataDir, { recursive: true })
  })
})

describe('Redactor', () => {
  const secret = 'p@ss/w+rd ü"canary'

  test('finds a secret as it is, in base64 at any offset, percent-encoded and in JSON', () => {
    const redactor = new Redactor()
    redactor.add(secret)
    const base64 = ['', 'a', 'ab', 'user:'].map(before => Buffer.from(`${before}${secret}${before}`).toString('base64'))
    const url64 = ['', 'a', 'ab'].map(before => Buffer.from(`${before}${secret}`).toString('base64url'))
    const forms = [
      secret,
      encodeURIComponent(secret),
      encodeURIComponent(secret).toLowerCase(),
      JSON.stringify({ a: secret }),
    ]
    forms.push(new URLSearchParams({ a: secret }).toString().slice(2), ...base64, ...url64)
    forms.push(JSON.stringify(JSON.stringify({ a: secret })), Buffer.from(secret).toString('hex'))
    forms.push(btoa(secret), btoa(`user:${secret}`), encodeURI(secret), JSON.stringify(secret).replace('ü', '\\u00fc'))
    for (const form of forms) expect(redactor.text(`<${form}>`)).toContain('[redacted]')
    expect(redactor.text(`x ${secret} y ${secret}`)).toBe('x [redacted] y [redacted]')
  })

  test('any text that holds a secret comes out without it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8, maxLength: 20 }), fc.string(), fc.string(), (hidden, before, after) => {
        const redactor = new Redactor()
        redactor.add(hidden)
        // The mark itself may contain a text that somebody uses as a secret.
        if ('[redacted]'.includes(hidden)) return
        expect(redactor.text(`${before}\0${hidden}\0${after}`)).toContain('[redacted]')
        expect(redactor.text(`\0${hidden}\0`)).toBe('\0[redacted]\0')
      }),
    )
  })

  test('takes out whatever overlapping secrets cover, and none under 8 characters', () => {
    const redactor = new Redactor(['abcdefgh', 'abcdefghij', 'hij-klmno', 'shorter'])
    expect(redactor.text('abcdefghij shorter abcdefghi')).toBe('[redacted] shorter [redacted]i')
    expect(redactor.text('<abcdefghij-klmnop>')).toBe('<[redacted]p>')
  })

  test('finds each form in whatever way it is percent-encoded or escaped, up to three times', () => {
    const redactor = new Redactor([secret])
    const eachByte = (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&')
    const eachUnit = (text: string) =>
      [...text].map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    const ways = [
      eachByte,
      (text: string) => eachByte(text).toUpperCase(),
      eachUnit,
      encodeURIComponent,
      (text: string) => JSON.stringify(text).slice(1, -1),
      (text: string) => encodeURIComponent(text).replaceAll('%20', '+'),
      (text: string) => [...text].map((letter, at) => (at % 3 === 0 ? eachByte(letter) : letter)).join(''),
    ]
    const forms = [secret, Buffer.from(`me:${secret}`).toString('base64'), Buffer.from(secret).toString('hex')]
    for (const form of forms) {
      for (const first of ways) {
        for (const second of ways) {
          expect(redactor.text(`<${second(first(form))}>`)).toContain('[redacted]')
          expect(redactor.text(`<${second(first(encodeURIComponent(form)))}>`)).toContain('[redacted]')
        }
      }
    }
    expect(redactor.text(`é€😀 ${eachByte(secret)} 😀 ${secret}%`)).toBe('é€😀 [redacted] 😀 [redacted]%')
    expect(redactor.text('%C3%A9 100 % \\u00 %zz \\')).toBe('%C3%A9 100 % \\u00 %zz \\')
  })

  test('a long secret is known by its first 128 bytes', () => {
    const long = randomBytes(3_000).toString('base64url')
    const redactor = new Redactor([long, `${long}more`])
    expect(redactor.text(`<${long}>`)).toBe('<[redacted]>')
    expect(redactor.text(`<${long.slice(0, 200)} and more>`)).toBe('<[redacted] and more>')
    expect(redactor.text(`<${long.slice(0, 100)}>`)).toContain(long.slice(0, 100))
  })

  test('a secret that was cut short is known by what stands before the mark', () => {
    const redactor = new Redactor([secret, 'b'.repeat(300)])
    expect(redactor.text(`"${secret.slice(0, 9)}…" it said`)).toBe('"[redacted]…" it said')
    expect(redactor.text(`<${encodeURIComponent(secret).slice(0, 12)}…>`)).toBe('<[redacted]…>')
    expect(redactor.text(`${'b'.repeat(250)}…`)).toBe('[redacted]…')
    expect(redactor.text(`${secret.slice(0, 9)}. p@s… …`)).toBe(`${secret.slice(0, 9)}. p@s… …`)
  })

  test('leaves what identifies, and the keys of records', () => {
    const redactor = new Redactor(['canary-value'])
    const record = { target: 'canary-value', 'canary-value': 1, tool: 'canary-value', detail: 'canary-value' }
    expect(redactor.record(record)).toEqual({ ...record, detail: '[redacted]' })
  })

  test('costs no more than n log n where secrets and texts begin alike', () => {
    const alike = Array.from({ length: 10_000 }, (_, n) => `${'a'.repeat(40)}${n}`)
    const nested = Array.from({ length: 1_000 }, (_, n) => 'a'.repeat(8 + n))
    for (const [secrets, text] of [
      [alike, `${'a'.repeat(39)}b`.repeat(2_500)],
      [alike, 'a'.repeat(100_000)],
      [alike, 'aaaaaaaab…'.repeat(10_000)],
      [nested, `${'a'.repeat(1_100)}b`.repeat(100)],
      [[`${'a'.repeat(100_000)}b`], 'a'.repeat(100_000)],
      [[`${'a'.repeat(127)}b`], '%61'.repeat(30_000)],
    ] as const) {
      const redactor = new Redactor(secrets)
      const started = performance.now()
      redactor.text(text)
      expect(performance.now() - started).toBeLessThan(atMost(5_000))
    }
  })

  test('clears records by key and by value, whatever is in them', () => {
    const redactor = new Redactor()
    redactor.add('canary-value')
    const circle: Record<string, unknown> = { text: 'a canary-value', count: 5, at: new Date(0) }
    circle.self = circle
    const cleared = redactor.record({
      headers: { Authorization: 'Bearer x', 'x-api-key': 'y' },
      list: [{ clientSecret: 'z', tokens: 7, tokenId: 'kept' }],
      error: new Error('failed with canary-value', { cause: new Error('canary-value') }),
      circle,
      none: null,
    })
    expect(cleared).toMatchObject({
      headers: { Authorization: '[redacted]', 'x-api-key': '[redacted]' },
      list: [{ clientSecret: '[redacted]', tokens: 7, tokenId: 'kept' }],
      error: { message: 'failed with [redacted]', cause: { message: '[redacted]' } },
      circle: { text: 'a [redacted]', count: 5, self: '[circular]', at: '1970-01-01T00:00:00.000Z' },
    } as never)
    expect(JSON.stringify(cleared)).not.toContain('canary')
  })

  test('isSecretKey() knows secrets from counts and ids', () => {
    const secrets = [
      'password',
      'accessToken',
      'API_KEY',
      'apikey',
      'client-secret',
      'Set-Cookie',
      'proxyAuthorization',
    ]
    expect(secrets.filter(key => !isSecretKey(key))).toEqual([])
    expect(['tokens', 'tokenId', 'key', 'keyId', 'author', 'passwordChangedAt'].filter(isSecretKey)).toEqual([])
  })

  test('finds a secret with marks that only some encoders touch', () => {
    const marked = "it's (a) *secret*! ~"
    const redactor = new Redactor()
    redactor.add(marked)
    const strict = encodeURIComponent(marked).replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16)}`)
    for (const form of [strict, strict.toUpperCase(), new URLSearchParams({ a: marked }).toString().slice(2)]) {
      const known = form === strict.toUpperCase() ? strict.replace(/%[0-9a-f]{2}/g, hex => hex.toUpperCase()) : form
      expect(redactor.text(`<${known}>`)).toBe('<[redacted]>')
    }
  })

  test('secretParts() names what others may repeat alone', () => {
    const pair = Buffer.from('bob:hunter2pass').toString('base64')
    expect(secretParts(`Basic ${pair}`)).toEqual([`Basic ${pair}`, pair, 'bob:hunter2pass', 'hunter2pass'])
    expect(secretParts('Bearer abc')).toEqual(['Bearer abc', 'abc'])
    expect(secretParts('https://a.example/v1/0123456789abcdef?k=a%20b&x=')).toEqual([
      'https://a.example/v1/0123456789abcdef?k=a%20b&x=',
      ...['0123456789abcdef', 'a%20b', 'a b'],
    ])
    expect(secretParts('postgres://me:p%40ss@db/x')).toEqual(['postgres://me:p%40ss@db/x', 'p%40ss', 'p@ss'])
    expect(secretParts(' padded ')).toEqual([' padded ', 'padded'])
    expect(secretParts('plain text')).toEqual(['plain text', 'text'])
  })

  test('costs little however many secrets there are', () => {
    const redactor = new Redactor()
    for (let count = 0; count < 3000; count += 1) redactor.add(randomBytes(24).toString('base64url'))
    const line = `{"level":"INFO","message":"${'GET /api/servers 200 in 5 ms '.repeat(10)}"}`
    const started = performance.now()
    for (let round = 0; round < 200; round += 1) redactor.text(line)
    expect((performance.now() - started) / 200).toBeLessThan(atMost(2))
  })
})
