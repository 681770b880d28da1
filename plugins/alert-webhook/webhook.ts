import { type FieldError, HubError, isJsonObject, type JsonObject } from 'patchbay/contract'
import type { AlertMessage, ChannelTarget, NoticeMessage, NotificationChannel } from 'patchbay/features'
import { parseUrl } from 'patchbay/transport-kit'
import { secretKey, signature } from './signature.ts'

const FIELDS = ['url', 'headers', 'secret']
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const PRINTABLE = /^[\x20-\x7e]*$/
/** Headers that the hub sets itself. */
const RESERVED =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-(?:length|type|encoding)|expect|proxy-.*|webhook-(?:id|timestamp|signature))$/
const MOST_HEADERS = 32

/** One POST per message: JSON with `version` `1`, and a Standard Webhooks signature where there is a secret. */
export const webhookChannel: NotificationChannel = {
  label: 'Webhook',
  configSchema: {
    type: 'object',
    required: ['url'],
    additionalProperties: false,
    properties: {
      url: {
        type: 'string',
        format: 'uri',
        title: 'Address',
        description: 'Gets a POST for each message, http or https.',
        'x-zh': { title: '地址', description: '每条消息都会以 POST 发送到此地址，http 或 https。' },
      },
      headers: {
        type: 'object',
        additionalProperties: { type: 'string' },
        maxProperties: MOST_HEADERS,
        default: {},
        title: 'Headers',
        description: 'Sent with every message.',
        'x-zh': { title: '请求头', description: '随每条消息发送。' },
      },
      secret: {
        type: 'string',
        pattern: '^whsec_',
        maxLength: 100,
        writeOnly: true,
        title: 'Secret',
        description: 'Signs each message by Standard Webhooks: `whsec_` and base64 of 24 to 64 bytes.',
        'x-zh': {
          title: '密钥',
          description: '按 Standard Webhooks 为每条消息签名：`whsec_` 加 24 到 64 字节的 base64。',
        },
      },
    },
  },
  secrets: ['/url', '/headers/*', '/secret'],
  check: checkConfig,
  send: post,
  notify: (message, to, signal) => post({ ...message, kind: 'notice' }, to, signal),
}

async function post(
  message: AlertMessage | (NoticeMessage & { readonly kind: 'notice' }),
  { config, fetch }: ChannelTarget,
  signal: AbortSignal,
): Promise<string> {
  const body = JSON.stringify({ version: '1', ...message })
  const headers = { ...configuredHeaders(config), ...signed(message, body, config) }
  const response = await fetch(String(config.url), { method: 'POST', headers, body, signal, maxBytes: 64 * 1024 })
  response.cancel()
  if (response.status >= 200 && response.status < 300) return String(response.status)
  throw refused(response.status, response.headers['retry-after'])
}

function signed(message: Pick<AlertMessage, 'id'>, body: string, { secret }: JsonObject): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const headers = {
    'content-type': 'application/json',
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
  }
  const key = typeof secret === 'string' ? secretKey(secret) : undefined
  if (!key) return headers
  return { ...headers, 'webhook-signature': signature(key, { id: message.id, timestamp, body }) }
}

function configuredHeaders({ headers }: JsonObject): Record<string, string> {
  const entries = isJsonObject(headers) ? Object.entries(headers) : []
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]))
}

function refused(status: number, retryAfter: string | undefined): HubError {
  const seconds = /^\d{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) : undefined
  const data = {
    ...([400, 401, 403, 404, 410].includes(status) ? { permanent: true } : {}),
    ...(seconds === undefined ? {} : { retryAfterMs: seconds * 1_000 }),
  }
  return new HubError('delivery_failed', `The receiver answered ${status}`, { data })
}

function checkConfig(config: JsonObject): readonly FieldError[] {
  const errors: FieldError[] = Object.keys(config)
    .filter(name => !FIELDS.includes(name))
    .map(name => ({ pointer: `#/${name}`, code: 'unknown_field', detail: `A webhook has ${FIELDS.join(', ')}` }))
  const { url, secret, headers } = config
  if (url === undefined) errors.push({ pointer: '#/url', code: 'required', detail: '"url" is missing' })
  else errors.push(...urlErrors(url))
  if (secret !== undefined && (typeof secret !== 'string' || !secretKey(secret))) {
    const detail = 'A secret is "whsec_" and base64 of 24 to 64 bytes'
    errors.push({ pointer: '#/secret', code: 'format', detail })
  }
  if (headers !== undefined) errors.push(...headerErrors(headers))
  return errors
}

function urlErrors(url: unknown): readonly FieldError[] {
  const pointer = '#/url'
  if (typeof url !== 'string') return [{ pointer, code: 'type', detail: '"url" must be a string' }]
  const parsed = parseUrl(url)
  if (!parsed) return [{ pointer, code: 'url_invalid', detail: 'This is no URL of at most 8,192 characters' }]
  if (!['http:', 'https:'].includes(parsed.protocol)) {
    return [{ pointer, code: 'url_scheme', detail: 'The URL must begin with http:// or https://' }]
  }
  if (parsed.username === '' && parsed.password === '') return []
  return [{ pointer, code: 'url_credentials', detail: 'Send user name and password in a header instead' }]
}

function headerErrors(headers: unknown): readonly FieldError[] {
  const pointer = '#/headers'
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    return [{ pointer, code: 'type', detail: '"headers" must be an object' }]
  }
  const entries = Object.entries(headers)
  if (entries.length > MOST_HEADERS) return [{ pointer, code: 'length', detail: `At most ${MOST_HEADERS} headers` }]
  return entries.flatMap(([name, value]): FieldError[] => {
    const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (!TOKEN.test(name)) return [{ pointer: at, code: 'header_name', detail: 'This is no header name' }]
    if (RESERVED.test(name.toLowerCase())) {
      return [{ pointer: at, code: 'header_reserved', detail: 'The hub sets this header itself' }]
    }
    const isText = typeof value === 'string' && PRINTABLE.test(value)
    return isText ? [] : [{ pointer: at, code: 'header_value', detail: 'A header holds printable ASCII' }]
  })
}
