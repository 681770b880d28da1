import { type FieldError, HubError, type JsonObject, type JsonValue } from 'patchbay/contract'
import type { ChannelTarget, NotificationChannel } from 'patchbay/features'
import { parseUrl } from 'patchbay/transport-kit'
import { type ChatConfig, TEMPLATES, templateFor } from './templates.ts'
import { alertText, type ChatText, noticeText } from './text.ts'

const FIELDS = ['webhook', 'channel', 'secret', 'template']
const LONGEST_TEXT = 8_192
const PERMANENT = [400, 401, 403, 404, 410]

/** Messages in the form of the chat service to which the address belongs. */
export const chatChannel: NotificationChannel = {
  label: { en: 'Chat', zh: '聊天' },
  configSchema: {
    type: 'object',
    required: ['webhook'],
    additionalProperties: false,
    properties: {
      webhook: {
        type: 'string',
        format: 'uri',
        title: 'Webhook',
        description: 'The address that the chat service gave.',
        'x-zh': { title: 'Webhook 地址', description: '聊天服务给出的地址。' },
      },
      channel: {
        type: 'string',
        maxLength: LONGEST_TEXT,
        title: 'Channel',
        description: 'Telegram: the chat_id. Slack: a channel, where the service takes one.',
        'x-zh': { title: '频道', description: 'Telegram：chat_id。Slack：频道，在服务支持时。' },
      },
      secret: {
        type: 'string',
        maxLength: LONGEST_TEXT,
        writeOnly: true,
        title: 'Secret',
        description: 'Feishu and DingTalk: signs each message.',
        'x-zh': { title: '密钥', description: '飞书与钉钉：为每条消息签名。' },
      },
      template: {
        enum: Object.keys(TEMPLATES),
        title: 'Service',
        description: 'The form of the messages; by default that of the address’s host, else slack.',
        'x-zh': { title: '服务', description: '消息的格式；默认按地址的主机判断，否则为 slack。' },
      },
    },
  },
  secrets: ['/webhook', '/secret'],
  // The lowest limit of the services.
  maxPerMinute: 20,
  check: checkConfig,
  send: (message, to, signal) => post(alertText(message), to, signal),
  notify: (message, to, signal) => post(noticeText(message), to, signal),
}

async function post(text: ChatText, { config, fetch }: ChannelTarget, signal: AbortSignal): Promise<string> {
  const chat = config as unknown as ChatConfig
  const form = templateFor(chat)
  const { url, body } = form.request(text, chat, Date.now())
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal, maxBytes: 65_536 })
  const answer = parsed(await response.text())
  const problem = form.problem(response.status, answer)
  if (problem === undefined) return String(response.status)
  const retryAfterMs = form.retryAfterMs?.(answer)
  const data = {
    ...(PERMANENT.includes(response.status) ? { permanent: true } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
  throw new HubError('delivery_failed', `The service answered ${problem}`, { data })
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

function checkConfig(config: JsonObject): readonly FieldError[] {
  const errors: FieldError[] = Object.keys(config)
    .filter(name => !FIELDS.includes(name))
    .map(name => ({ pointer: `#/${name}`, code: 'unknown_field', detail: `A chat has ${FIELDS.join(', ')}` }))
  errors.push(...FIELDS.flatMap(name => textErrors(name, config[name])))
  if (errors.length > 0) return errors
  const { webhook, template, channel } = config as unknown as Partial<ChatConfig>
  const problem = checkWebhook(webhook)
  if (problem || webhook === undefined) return problem ? [problem] : []
  if (template !== undefined && !Object.hasOwn(TEMPLATES, template)) {
    const detail = `"template" must be one of ${Object.keys(TEMPLATES).join(', ')}`
    return [{ pointer: '#/template', code: 'enum', detail }]
  }
  if (!templateFor({ webhook, ...(template === undefined ? {} : { template }) }).needsChannel || channel) return []
  return [{ pointer: '#/channel', code: 'required', detail: 'This service wants the id of a chat as "channel"' }]
}

function textErrors(name: string, value: JsonValue | undefined): readonly FieldError[] {
  const pointer = `#/${name}`
  if (value === undefined) return []
  if (typeof value !== 'string') return [{ pointer, code: 'type', detail: `"${name}" must be a string` }]
  if (value.length <= LONGEST_TEXT) return []
  return [{ pointer, code: 'length', detail: `"${name}" has more than ${LONGEST_TEXT} characters` }]
}

function checkWebhook(webhook: string | undefined): FieldError | undefined {
  const pointer = '#/webhook'
  if (webhook === undefined) return { pointer, code: 'required', detail: '"webhook" is missing' }
  const url = parseUrl(webhook)
  if (!url) return { pointer, code: 'url_invalid', detail: 'This is no URL of at most 8,192 characters' }
  if (!['http:', 'https:'].includes(url.protocol)) {
    return { pointer, code: 'url_scheme', detail: 'The URL must begin with http:// or https://' }
  }
  if (url.username !== '' || url.password !== '') {
    return { pointer, code: 'url_credentials', detail: 'The URL holds a user name or password' }
  }
  return undefined
}
