import { HubError, type JsonObject } from 'patchbay/contract'
import type { ChannelTarget, NotificationChannel } from 'patchbay/features'
import { checkConfig, type EmailConfig, type EmailPluginConfig, isAddress, type MailServer } from './config.ts'
import { type Mail, mailOf, noticeMail } from './message.ts'

/** For the connection, the greeting, and each answer of the server, in milliseconds. */
const TIMEOUT_MS = 10_000

/** Mails an hour by the plugin's server, each recipient counted, for all channels of one owner. */
const HOURLY = 60
const HOUR_MS = 60 * 60_000

/**
 * Mail through an SMTP server; a password is sent only over TLS, unless the channel allows otherwise. `now`: milliseconds, for
 * the limit of an hour.
 */
export function emailChannel(plugin: EmailPluginConfig = {}, now = () => performance.now()): NotificationChannel {
  const hours = new Map<string, { readonly sinceMs: number; sent: number }>()
  /** Counts mails of the present hour; the returned function subtracts those that were not sent. Throws `delivery_failed`. */
  function countFor(owner: string, recipients: number): () => void {
    const nowMs = now()
    const known = hours.get(owner)
    const hour = known && nowMs - known.sinceMs < HOUR_MS ? known : { sinceMs: nowMs, sent: 0 }
    hours.set(owner, hour)
    if (hour.sent > 0 && hour.sent + recipients > HOURLY) {
      const retryAfterMs = Math.ceil(hour.sinceMs + HOUR_MS - nowMs)
      const text = `By the hub’s mail server ${HOURLY} mails an hour are sent for each user`
      throw new HubError('delivery_failed', text, { data: { retryAfterMs } })
    }
    hour.sent += recipients
    return () => {
      hour.sent -= recipients
    }
  }
  async function send(
    mail: Mail,
    owner: string,
    { config, resolve }: ChannelTarget,
    signal: AbortSignal,
  ): Promise<string> {
    const { smtp, recipients, from } = config as unknown as EmailConfig
    const server = smtp ?? plugin.smtp
    if (!server) throw new HubError('delivery_failed', 'The channel names no mail server, and the plugin has none')
    const sender = from ?? (smtp ? undefined : plugin.from) ?? senderOf(server)
    // A library could turn a wrong address into another recipient.
    if (![sender, ...recipients].every(isAddress)) throw new HubError('delivery_failed', 'An address is not valid')
    const takeBack = smtp ? undefined : countFor(owner, recipients.length)
    try {
      // The plugin's own server is the administrator's choice; a channel's must be open to its owner.
      const address = smtp ? (await resolve(smtp.host))[0] : undefined
      return await deliver(mail, { ...server, address }, sender, recipients, signal)
    } catch (error) {
      takeBack?.()
      throw error
    }
  }
  return {
    label: { en: 'E-mail', zh: '电子邮件' },
    configSchema: schemaFor(plugin),
    secrets: ['/smtp/auth/pass'],
    adminOnly: plugin.allowUsers === true && plugin.smtp ? ['smtp', 'from'] : true,
    maxPerMinute: 6,
    check: config => checkConfig(config, plugin.smtp === undefined),
    send: (message, to, signal) => send(mailOf(message), message.owner, to, signal),
    notify: (message, to, signal) => send(noticeMail(message), message.owner, to, signal),
  }
}

/** A server, and the address to which its name was resolved; without one the name is resolved when it is connected to. */
interface Dialled extends MailServer {
  readonly address?: string | undefined
}

async function deliver(
  { subject, text, messageId, references }: Mail,
  smtp: Dialled,
  from: string,
  recipients: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport(options(smtp))
  const stop = (): void => transport.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    const envelope = { from, to: [...recipients] }
    const { response, rejected } = await transport.sendMail({
      ...{ envelope, from, to: [...recipients], subject, text, messageId, references: [...references] },
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    const refused = rejected.length > 0 ? `; refused: ${rejected.map(String).join(', ')}` : ''
    return `${response}${refused}`.slice(0, 500)
  } catch (error) {
    throw failure(error, smtp)
  } finally {
    signal.removeEventListener('abort', stop)
    transport.close()
  }
}

function schemaFor({ smtp }: EmailPluginConfig): JsonObject {
  return {
    type: 'object',
    required: smtp ? ['recipients'] : ['smtp', 'recipients'],
    additionalProperties: false,
    properties: {
      smtp: {
        type: 'object',
        required: ['host'],
        additionalProperties: false,
        properties: {
          host: {
            type: 'string',
            format: 'host',
            maxLength: 253,
            title: 'Host',
            description: 'A host name or an IP address.',
            'x-zh': { title: '主机', description: '主机名或 IP 地址。' },
          },
          port: {
            type: 'integer',
            minimum: 1,
            maximum: 65_535,
            title: 'Port',
            description: 'By default 587, or 465 with `secure`.',
            'x-zh': { title: '端口', description: '默认 587；开启 `secure` 时为 465。' },
          },
          secure: {
            type: 'boolean',
            title: 'TLS at once',
            description: 'TLS from the first byte; by default for port 465.',
            'x-zh': { title: '直接使用 TLS', description: '从第一个字节起使用 TLS；端口 465 时默认开启。' },
          },
          auth: {
            type: 'object',
            required: ['user', 'pass'],
            additionalProperties: false,
            properties: {
              user: {
                type: 'string',
                maxLength: 1_024,
                title: 'User',
                description: 'The name to sign in with.',
                'x-zh': { title: '用户', description: '登录所用的名称。' },
              },
              pass: {
                type: 'string',
                maxLength: 1_024,
                writeOnly: true,
                title: 'Password',
                description: 'The password to sign in with.',
                'x-zh': { title: '密码', description: '登录所用的密码。' },
              },
            },
            title: 'Sign-in',
            description: 'For a server that wants a sign-in.',
            'x-zh': { title: '登录', description: '用于要求登录的服务器。' },
          },
          allowInsecureAuth: {
            type: 'boolean',
            default: false,
            title: 'Password without TLS',
            description: 'Sends the password also where the server offers no TLS.',
            'x-zh': { title: '无 TLS 也发送密码', description: '服务器不提供 TLS 时也发送密码。' },
          },
          ca: {
            type: 'string',
            maxLength: 65_536,
            title: 'Trusted certificates',
            description: 'Certificates (PEM) to trust instead of the system’s.',
            'x-zh': { title: '信任的证书', description: '用来代替系统证书的受信证书（PEM）。' },
          },
        },
        title: 'Mail server',
        description: 'The SMTP server that takes the mail.',
        'x-zh': { title: '邮件服务器', description: '接收邮件的 SMTP 服务器。' },
      },
      recipients: {
        type: 'array',
        items: { type: 'string', format: 'email', maxLength: 254 },
        minItems: 1,
        maxItems: 50,
        title: 'Recipients',
        description: 'Addresses without names.',
        'x-zh': { title: '收件人', description: '不带姓名的地址。' },
      },
      from: {
        type: 'string',
        format: 'email',
        maxLength: 254,
        title: 'Sender',
        description: 'By default the user name where that is an address, else `patchbay@` and the server’s name.',
        'x-zh': { title: '发件人', description: '默认为用户名（若它是地址），否则为 `patchbay@` 加服务器名称。' },
      },
    },
  }
}

function options({ host, address = host, port, secure = port === 465, auth, allowInsecureAuth, ca }: Dialled) {
  const servername = isLiteral(host) ? {} : { servername: host }
  return {
    ...{ host: address, port: port ?? (secure ? 465 : 587), secure },
    ...(auth ? { auth: { ...auth } } : {}),
    // Without STARTTLS the password would be sent unencrypted.
    requireTLS: auth !== undefined && allowInsecureAuth !== true,
    tls: { minVersion: 'TLSv1.2', ...servername, ...(ca === undefined ? {} : { ca }) } as const,
    ...{
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      dnsTimeout: TIMEOUT_MS,
    },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  }
}

function senderOf({ host, auth }: MailServer): string {
  if (auth && isAddress(auth.user)) return auth.user
  return isLiteral(host) ? 'patchbay@localhost' : `patchbay@${host}`
}

/** True for an address, false for a name. */
function isLiteral(host: string): boolean {
  return /^[\d.]+$|:/.test(host)
}

interface SmtpError extends Error {
  readonly code?: string
  readonly responseCode?: number
}

/** A refusal for good is one with 5xx, and of user and password; the server may repeat the latter in its words. */
function failure(error: unknown, { auth }: MailServer): HubError {
  const { message, code, responseCode = 0 } = error as SmtpError
  const permanent = responseCode >= 500 || (code === 'EAUTH' && responseCode < 400)
  const words = auth ? message.replaceAll(auth.pass, '[redacted]') : message
  const data = permanent ? { permanent } : {}
  return new HubError('delivery_failed', `The mail server: ${words}`.slice(0, 400), { data })
}
