/** Mail as a real SMTP server accepts it, and the handling of its refusals. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import type { HubError } from '../../core/contract/errors.ts'
import type { AlertMessage } from '../../core/features/alerts.ts'
import { createGuardedFetch } from '../../core/outbound/create.ts'
import { createLookup } from '../../core/outbound/lookup.ts'
import { resolveHost } from '../../core/outbound/targets.ts'
import { parsePluginConfig } from '../../core/plugin-host/resolve.ts'
import { emailChannel } from '../../plugins/alert-email/email.ts'
import plugin from '../../plugins/alert-email/plugin.ts'
import { Authority, type Certificate } from '../support/certificates.ts'
import { type MailServerOptions, startMailServer } from '../support/mail-server.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'

const AUTH = { user: 'hub@example.com', pass: 'the pass word' }
const MESSAGE: AlertMessage = {
  ...{ id: 'msg_1', kind: 'fired', rule: 'ausgefallen 超时', severity: 'critical', owner: 'ann', flapping: true },
  ...{ condition: 'server_status == offline', at: '2026-11-22T09:30:00.000Z' },
  instances: [
    {
      ...{ incident: 'i1', subject: 'ann~files\r\nBcc: eve@example.com', state: 'firing', value: 12, threshold: 5 },
      ...{ startsAt: '2026-11-22T09:29:00.000Z', reason: 'it ended' },
    },
    {
      ...{ incident: 'i2', subject: 'ann~time', state: 'resolved', value: 'online' },
      ...{ startsAt: '2026-11-22T09:20:00.000Z', endsAt: '2026-11-22T09:28:00.000Z' },
    },
  ],
}

const channel = emailChannel()
let folder: string
let certificate: Certificate
let ca: string
let stop: (() => Promise<void>) | undefined
const rights = { networks: [], admin: true }
const reach = {
  fetch: createGuardedFetch({ rights, instanceId: 'x' }),
  resolve: (host: string) => resolveHost(host, rights, createLookup()),
}

beforeAll(async () => {
  folder = await makeTemp('mail')
  const authority = new Authority(folder)
  ca = authority.certificate
  certificate = authority.issue('mail', 'IP:127.0.0.1')
})
afterEach(async () => {
  await stop?.()
  stop = undefined
})
afterAll(() => removeTemp(folder))

async function serve(options: MailServerOptions = {}) {
  const server = await startMailServer(options)
  stop = server.stop
  return server
}

function send(port: number, smtp: object = {}, more: object = {}, message = MESSAGE): Promise<string> {
  const config = { smtp: { host: '127.0.0.1', port, ...smtp }, recipients: ['ops@example.com'], ...more }
  expect(channel.check(config)).toEqual([])
  return channel.send(message, { config, ...reach }, AbortSignal.timeout(60_000))
}

test('a host that is closed to its owner gets no connection, and a name is connected to at the address that was judged', async () => {
  const server = await serve()
  const [code] = await refusal(send(server.port, { host: '169.254.169.254' }))
  expect(code).toBe('url_address_blocked')
  expect(await send(server.port, { host: 'localhost' })).toContain('250')
})

async function refusal(work: Promise<string>): Promise<readonly [string, boolean, string]> {
  const error: HubError = await work.then(
    said => Promise.reject(new Error(`It was sent: ${said}`)),
    (caught: HubError) => caught,
  )
  return [error.code, error.data?.permanent === true, error.message]
}

describe('a mail', () => {
  test('goes over STARTTLS with a password, to the recipients alone, and can be read', async () => {
    const { port, received, passwords } = await serve({ certificate, auth: AUTH })
    const recipients = ['ops@example.com', '值班@例子.example']
    expect(await send(port, { auth: AUTH, ca }, { recipients })).toContain('250')
    expect(passwords).toEqual([{ pass: AUTH.pass, secure: true }])
    const [mail] = received
    expect(mail).toMatchObject({ from: AUTH.user, secure: true, user: AUTH.user })
    expect(mail?.to).toHaveLength(2)
    const [head = '', ...body] = (mail?.text ?? '').split('\r\n\r\n')
    expect(head).toMatch(/^Message-ID: <msg_1@patchbay>$/im)
    expect(head).toMatch(/^References: <i1@patchbay> <i2@patchbay>$/im)
    expect(head).toMatch(/^Auto-Submitted: auto-generated$/im)
    expect(head).not.toMatch(/^bcc:/im)
    expect(unfolded(head)).toContain('Subject: [FIRING] critical: ausgefallen 超时 (ann~files')
    const text = /base64/i.test(head)
      ? Buffer.from(body.join(''), 'base64').toString()
      : fromQuoted(body.join('\r\n\r\n'))
    expect(text).toContain('value: 12 (limit 5)')
    expect(text).toContain('ann~time: resolved')
    expect(text).toContain('Rule: ann~ausgefallen 超时')
    expect(text).toContain('It fires again and again.')
  })

  test('goes over TLS from the first byte, and without TLS and password where the server has neither', async () => {
    const secure = await serve({ certificate, implicit: true })
    await send(secure.port, { secure: true, ca })
    expect(secure.received).toMatchObject([{ from: 'patchbay@localhost', to: ['ops@example.com'], secure: true }])
    await stop?.()
    const plain = await serve()
    await send(plain.port, {}, { from: 'alerts@example.com' })
    expect(plain.received).toMatchObject([{ from: 'alerts@example.com', secure: false }])
  })

  test('sends no password where there is no TLS, unless the channel says so', async () => {
    const { port, received, passwords } = await serve({ auth: AUTH })
    const [code, , words] = await refusal(send(port, { auth: AUTH }))
    expect([code, passwords]).toEqual(['delivery_failed', []])
    expect(words).toContain('STARTTLS')
    await send(port, { auth: AUTH, allowInsecureAuth: true })
    expect(received).toHaveLength(1)
  })

  test('is not sent to a server whose certificate nobody vouches for', async () => {
    const { port, passwords } = await serve({ certificate, auth: AUTH })
    const [code, permanent] = await refusal(send(port, { auth: AUTH }))
    expect([code, permanent, passwords]).toEqual(['delivery_failed', false, []])
  })
})

describe('a refusal', () => {
  test('of the password is final, and does not repeat it', async () => {
    const { port } = await serve({ certificate, auth: AUTH })
    const [code, permanent, words] = await refusal(send(port, { auth: { ...AUTH, pass: 'another word' }, ca }))
    expect([code, permanent]).toEqual(['delivery_failed', true])
    expect(words).toContain('[redacted]')
    expect(words).not.toContain('another word')
  })

  test('of all recipients is final with 550, and not with 450; that of one of two is reported', async () => {
    const { port } = await serve({
      statusFor: address => Number(/^s(\d+)@/.exec(address)?.[1] ?? 0),
    })
    const to = (...recipients: string[]) => send(port, {}, { recipients })
    expect((await refusal(to('s550@example.com'))).slice(0, 2)).toEqual(['delivery_failed', true])
    expect((await refusal(to('s450@example.com'))).slice(0, 2)).toEqual(['delivery_failed', false])
    expect(await to('s550@example.com', 'ops@example.com')).toContain('refused: s550@example.com')
  })

  test('by a server that is not there, or that is none, is tried again', async () => {
    const { port } = await serve()
    await stop?.()
    stop = undefined
    expect((await refusal(send(port))).slice(0, 2)).toEqual(['delivery_failed', false])
    const other = createServer(socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    const { port: otherPort } = other.address() as { port: number }
    expect((await refusal(send(otherPort))).slice(0, 2)).toEqual(['delivery_failed', false])
    other.close()
  })
})

describe('a configuration', () => {
  const SMTP = { host: 'mail.example.com' }
  const wrong: readonly (readonly [object, string])[] = [
    [{}, 'required #/smtp, required #/recipients'],
    [{ smtp: 'mail', recipients: ['a@b.example'] }, 'type #/smtp'],
    [{ smtp: {}, recipients: ['a@b.example'] }, 'required #/smtp/host'],
    [{ smtp: { host: 'a b', port: 0 }, recipients: ['a@b.example'] }, 'format #/smtp/host, range #/smtp/port'],
    [{ smtp: { ...SMTP, auth: { user: 'x' } }, recipients: ['a@b.example'] }, 'required #/smtp/auth/pass'],
    [
      { smtp: { ...SMTP, auth: { user: 'x', pass: 'a\r\nb' } }, recipients: ['a@b.example'] },
      'format #/smtp/auth/pass',
    ],
    [{ smtp: { ...SMTP, tls: true }, recipients: ['a@b.example'] }, 'unknown_field #/smtp/tls'],
    [{ smtp: { ...SMTP, ca: 'x', secure: 1 }, recipients: ['a@b.example'] }, 'format #/smtp/ca, type #/smtp/secure'],
    [{ smtp: SMTP, recipients: [] }, 'length #/recipients'],
    [{ smtp: SMTP, recipients: 'a@b.example' }, 'type #/recipients'],
    [{ smtp: SMTP, recipients: ['a@b.example'], __proto__x: 1 }, 'unknown_field #/__proto__x'],
  ]
  test.each(wrong)('%j is refused', (config, said) => {
    const errors = channel.check(config as never).map(({ code, pointer }) => `${code} ${pointer}`)
    expect(errors.join(', ')).toBe(said)
  })

  test.each([
    ...[
      'd@e.f\r\nBcc: q@x.y',
      'a@b.example, c@d.example',
      'Ann <a@b.example>',
      '<a@b.example>',
      'a@b@c.example',
      'a',
      '',
    ],
    ...['"a b"@c.example', 'group: a@b.example;', 'a@b.example\0', `${'a'.repeat(250)}@b.example`, 'a@b.example (x)'],
  ])('the recipient %j is refused when it is saved, and when it is sent to', async address => {
    const config = { smtp: { host: '127.0.0.1', port: 1 }, recipients: [address] }
    expect(channel.check(config).map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
      'email_invalid #/recipients/0',
    ])
    const [, , words] = await refusal(channel.send(MESSAGE, { config, ...reach }, AbortSignal.timeout(60_000)))
    expect(words).toBe('An address is not valid')
  })
})

describe('the plugin’s own server', () => {
  const to = (...recipients: string[]) => ({ recipients })

  test('takes the mail of channels that name none, 60 an hour for each owner', async () => {
    const { port, received } = await serve()
    let nowMs = 0
    const own = { smtp: { host: '127.0.0.1', port }, from: 'hub@example.com', allowUsers: true }
    const shared = emailChannel(own, () => nowMs)
    const deliver = (config: object, owner = 'ann') =>
      shared.send({ ...MESSAGE, owner }, { config: config as never, ...reach }, AbortSignal.timeout(60_000))
    expect(shared.check(to('a@b.example'))).toEqual([])
    expect(channel.check(to('a@b.example'))).toMatchObject([{ code: 'required', pointer: '#/smtp' }])
    expect([shared.adminOnly, channel.adminOnly]).toEqual([['smtp', 'from'], true])
    const many = to(...Array.from({ length: 29 }, (_, n) => `r${n}@example.com`))
    await deliver(many)
    await deliver(many)
    expect(received[0]).toMatchObject({ from: 'hub@example.com' })
    const error = await deliver(many).catch((caught: HubError) => caught)
    expect(error).toMatchObject({ code: 'delivery_failed', data: { retryAfterMs: 3_600_000 } })
    await deliver(to('a@b.example', 'c@d.example'))
    await deliver(many, 'bob')
    nowMs = 3_600_000
    await deliver(many)
    expect(received).toHaveLength(5)
    // A channel with a server of its own is not counted.
    for (let n = 0; n < 3; n += 1) await deliver({ ...many, smtp: own.smtp })
    expect(received).toHaveLength(8)
  })

  test('takes mails that could not be sent off the hour again', async () => {
    const { port, stop: end } = await startMailServer()
    const shared = emailChannel(
      { smtp: { host: '127.0.0.1', port }, from: 'hub@example.com', allowUsers: true },
      () => 0,
    )
    const config = to(...Array.from({ length: 29 }, (_, n) => `r${n}@example.com`)) as never
    const deliver = () => shared.send(MESSAGE, { config, ...reach }, AbortSignal.timeout(60_000))
    await deliver()
    await end()
    for (let n = 0; n < 3; n += 1) {
      const { data } = (await deliver().then(String, (caught: HubError) => caught)) as HubError
      // The mail server does not answer; the limit of the hour is not the reason.
      expect((data as { retryAfterMs?: number } | undefined)?.retryAfterMs).toBeUndefined()
    }
  })

  test.each([
    [{ allowUsers: true }, '#/config/smtp'],
    [{ smtp: { host: 'a b' } }, '#/config/smtp/host'],
    [{ smtp: { host: 'a.example' }, from: 'Ann <a@b.example>' }, '#/config/from'],
    [{ recipients: ['a@b.example'] }, '#/config/recipients'],
  ])('%j is refused as its configuration', async (config, pointer) => {
    const refused = await parsePluginConfig(plugin, config).catch((caught: HubError) => caught)
    expect((refused as HubError).errors?.map(error => error.pointer)).toEqual([pointer])
    expect(await parsePluginConfig(plugin, undefined)).toEqual({})
  })
})

/** The head with its encoded words read (RFC 2047). */
function unfolded(head: string): string {
  return head.replace(/\?=\r\n\s+=\?/g, '?==?').replace(/((?:=\?UTF-8\?[QB]\?[^?]*\?=)+)/gi, words => {
    const parts = [...words.matchAll(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi)]
    return Buffer.concat(
      parts.map(([, form, coded = '']) =>
        form?.toUpperCase() === 'B'
          ? Buffer.from(coded, 'base64')
          : Buffer.from(fromQuoted(coded.replaceAll('_', ' ')), 'utf8'),
      ),
    ).toString()
  })
}

function fromQuoted(text: string): string {
  const bytes = text
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
