/** Each chat service's form, sent through the guarded fetch and read by what its page says of it. */
import { afterAll, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { visibleName } from '../../core/domain/text/visible-text.ts'
import type { AlertMessage, NoticeMessage } from '../../core/features/alerts.ts'
import { createGuardedFetch } from '../../core/outbound/create.ts'
import { chatChannel } from '../../plugins/alert-chat/chat.ts'
import { cutBytes, cutCharacters } from '../../plugins/alert-chat/text.ts'
import { FOREIGN_NAMES, hiddenIn } from '../support/foreign-names.ts'
import { type Received, startReceiver } from '../support/receiver.ts'

let answer: (received: Received) => Response = () => new Response('ok')
const receiver = startReceiver(received => answer(received))
afterAll(() => void receiver.stop(), 120_000)
const fetch = createGuardedFetch({ rights: { networks: ['127.0.0.0/8'], admin: false }, instanceId: 'x' })

const MESSAGE: AlertMessage = {
  ...{ id: 'msg_1', kind: 'fired', rule: 'down', severity: 'critical', owner: 'ann', flapping: false },
  ...{ condition: 'server_status == offline', at: '2026-11-22T09:30:00.000Z' },
  instances: [
    {
      ...{ incident: 'i1', subject: 'ann~a*b <@here> & c', state: 'firing', value: 'offline' },
      startsAt: '2026-11-22T09:29:00.000Z',
    },
  ],
}

async function sent(template: string, config: object = {}, message = MESSAGE): Promise<Received> {
  const webhook = `${receiver.url}/hook?access_token=t`
  const to = { config: { webhook, template, ...config }, fetch, resolve: async () => [] }
  await chatChannel.send(message, to, AbortSignal.timeout(60_000))
  return receiver.received.at(-1) as Received
}

async function outcome(template: string, status: number, body: object | string): Promise<object> {
  answer = () => new Response(typeof body === 'string' ? body : JSON.stringify(body), { status })
  return sent(template, { channel: '1' }).then(
    () => ({}),
    (error: { code: string; data: object }) => ({ code: error.code, ...error.data }),
  )
}

describe('the form of', () => {
  test('slack', async () => {
    answer = () => new Response('ok')
    const { json } = await sent('slack', { channel: '#ops' })
    expect(json).toMatchObject({ text: '[FIRING] critical: down', channel: '#ops', attachments: [{ color: 'danger' }] })
    expect(json.attachments[0].text).toContain('ann~a*b &lt;＠here&gt; &amp; c')
    expect(json.attachments[0].ts).toBe(1_795_339_800)
  })

  test('feishu, signed', async () => {
    answer = () => Response.json({ code: 0 })
    const { json } = await sent('feishu', { secret: 's3cret' })
    expect(json).toMatchObject({ msg_type: 'text', content: { text: expect.stringContaining('ann~a*b ＜@here> & c') } })
    expect(json.sign).toBe(createHmac('sha256', `${json.timestamp}\ns3cret`).update('').digest('base64'))
    expect(json.timestamp).toMatch(/^\d{10}$/)
  })

  test('dingtalk, signed', async () => {
    answer = () => Response.json({ errcode: 0 })
    const { json, path } = await sent('dingtalk', { secret: 'SEC1' })
    const query = new URL(path, receiver.url).searchParams
    const timestamp = query.get('timestamp')
    expect(query.get('access_token')).toBe('t')
    expect(query.get('sign')).toBe(createHmac('sha256', 'SEC1').update(`${timestamp}\nSEC1`).digest('base64'))
    expect(json).toMatchObject({ msgtype: 'markdown', markdown: { title: '[FIRING] critical: down' } })
    expect(json.markdown.text).toContain('a\\*b ＜＠here\\>')
    expect(json.at).toEqual({ isAtAll: false })
  })

  test('wecom, within its bytes', async () => {
    answer = () => Response.json({ errcode: 0 })
    const [one] = MESSAGE.instances as [AlertMessage['instances'][number]]
    const instances = Array.from({ length: 100 }, () => ({ ...one, subject: '超时'.repeat(60) }))
    const { json } = await sent('wecom', {}, { ...MESSAGE, instances })
    expect(json.msgtype).toBe('markdown')
    expect(Buffer.byteLength(json.markdown.content)).toBeWithin(4_000, 4_097)
  })

  test('discord, which calls nobody', async () => {
    answer = () => new Response(null, { status: 204 })
    const { json } = await sent('discord', {}, { ...MESSAGE, kind: 'resolved' })
    expect(json).toMatchObject({ content: '[RESOLVED] critical: down', allowed_mentions: { parse: [] } })
    expect(json.embeds).toMatchObject([{ color: 0x2ea043, timestamp: MESSAGE.at }])
  })

  test('telegram, as plain text', async () => {
    answer = () => Response.json({ ok: true })
    const { json } = await sent('telegram', { channel: '-100' })
    expect(json).toMatchObject({ chat_id: '-100', link_preview_options: { is_disabled: true } })
    expect(json).not.toHaveProperty('parse_mode')
  })
})

const FORMS: readonly (readonly [template: string, answered: object])[] = [
  ...(['slack', 'discord'] as const).map(name => [name, {}] as const),
  ...[['feishu', { code: 0 }] as const, ['telegram', { ok: true }] as const],
  ...(['dingtalk', 'wecom'] as const).map(name => [name, { errcode: 0 }] as const),
]

test.each(FORMS)('%s calls nobody and links nowhere, whatever a subject is called', async (template, answered) => {
  answer = () => Response.json(answered)
  const [one] = MESSAGE.instances as [AlertMessage['instances'][number]]
  for (const name of FOREIGN_NAMES.map(visibleName)) {
    const message = { ...MESSAGE, rule: name, instances: [{ ...one, subject: name, reason: name }] }
    const { json } = await sent(template, { channel: '-1' }, message)
    // DingTalk shows the title in the list of messages, as plain text.
    const text = JSON.stringify(json, (key, value) => (template === 'dingtalk' && key === 'title' ? '' : value))
    expect([name, hiddenIn(json)]).toEqual([name, []])
    // Telegram reads no marks, and its links need no name.
    if (template === 'telegram') expect(json).not.toHaveProperty('parse_mode')
    else expect([name, /(?<!\\)<(?:at |!channel|@)|(?<!\\)\]\(http/.test(text)]).toEqual([name, false])
  }
})

describe('answers that are no success', () => {
  const rows: readonly (readonly [string, number, object | string, object])[] = [
    ['slack', 404, 'no_service', { permanent: true }],
    ['slack', 500, 'oops', {}],
    ['feishu', 200, { code: 19021, msg: 'sign match fail' }, {}],
    ['dingtalk', 200, { errcode: 310000, errmsg: 'sign not match' }, {}],
    ['wecom', 200, '<html>', {}],
    ['discord', 429, { retry_after: 0.65 }, { retryAfterMs: 650 }],
    ['telegram', 429, { ok: false, parameters: { retry_after: 5 } }, { retryAfterMs: 5_000 }],
    ['telegram', 403, { ok: false, description: 'bot was blocked' }, { permanent: true }],
  ]
  for (const [template, status, body, data] of rows) {
    test(`${template} with ${status} ${JSON.stringify(body)}`, async () => {
      expect(await outcome(template, status, body)).toEqual({ code: 'delivery_failed', ...data })
    })
  }
})

test('the configuration is checked', () => {
  const codes = (config: object) => chatChannel.check(config as never).map(({ code, pointer }) => `${code} ${pointer}`)
  expect(codes({ webhook: 'https://hooks.slack.com/x' })).toEqual([])
  expect(codes({})).toEqual(['required #/webhook'])
  expect(codes({ webhook: 5, url: '' })).toEqual(['unknown_field #/url', 'type #/webhook'])
  expect(codes({ webhook: 'https://hooks.slack.com/x', channel: 'x'.repeat(8_193) })).toEqual(['length #/channel'])
  expect(codes({ webhook: 'x' })).toEqual(['url_invalid #/webhook'])
  expect(codes({ webhook: 'ftp://x' })).toEqual(['url_scheme #/webhook'])
  expect(codes({ webhook: 'https://a:b@x' })).toEqual(['url_credentials #/webhook'])
  expect(codes({ webhook: 'https://x', template: 'irc' })).toEqual(['enum #/template'])
  expect(codes({ webhook: 'https://api.telegram.org/bot1/sendMessage' })).toEqual(['required #/channel'])
})

test('texts are cut between characters', () => {
  expect(cutBytes('超时超时', 9)).toBe('超时…')
  expect(cutBytes('超时', 6)).toBe('超时')
  expect(cutCharacters('ab😀cd', 4)).toBe('ab…')
  expect(cutCharacters('ab😀cd', 5)).toBe('ab😀…')
})

test('every service gets a notice with its link as it is, and names as text', async () => {
  const url = 'https://hub.example/approvals/0f-1'
  const notice: NoticeMessage = {
    ...{ id: 'msg_2', title: 'una calls pay_<@here>', lines: ['until [now](https://evil.example)'], url },
    ...{ owner: 'ann', at: '2026-11-22T09:30:00.000Z' },
  }
  const accepted: Record<string, object> = {
    ...{ slack: {}, discord: {}, telegram: { ok: true }, feishu: { code: 0 } },
    ...{ dingtalk: { errcode: 0 }, wecom: { errcode: 0 } },
  }
  for (const [template, body] of Object.entries(accepted)) {
    answer = () => Response.json(body)
    const to = { config: { webhook: `${receiver.url}/hook`, template, channel: '1' }, fetch, resolve: async () => [] }
    await chatChannel.notify?.(notice, to, AbortSignal.timeout(60_000))
    const { text } = receiver.received.at(-1) as Received
    expect([template, text.includes(url)]).toEqual([template, true])
    // Telegram reads no markup without a mode.
    const isMarkup = template !== 'telegram' && text.includes('[now](https://evil')
    expect([template, isMarkup, text.includes('Severity')]).toEqual([template, false, false])
  }
})
