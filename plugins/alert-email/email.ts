import { HubError, type NotificationChannel } from 'patchbay/contract'
import { checkConfig, type EmailConfig, isAddress } from './config.ts'
import { mailOf } from './message.ts'

/** For the connection, the greeting, and each answer of the server, in milliseconds. */
const TIMEOUT_MS = 10_000

/** Mail through an SMTP server; a password goes over TLS alone, unless the channel says otherwise. */
export const emailChannel: NotificationChannel = {
  label: 'E-mail',
  configSchema: {
    type: 'object',
    required: ['smtp', 'recipients'],
    additionalProperties: false,
    properties: {
      smtp: {
        type: 'object',
        required: ['host'],
        additionalProperties: false,
        properties: {
          host: { type: 'string' },
          port: { type: 'integer', minimum: 1, maximum: 65_535, description: '587 by default, 465 with secure' },
          secure: { type: 'boolean', description: 'TLS from the first byte; by default for port 465' },
          auth: {
            type: 'object',
            required: ['user', 'pass'],
            additionalProperties: false,
            properties: { user: { type: 'string' }, pass: { type: 'string', writeOnly: true } },
          },
          allowInsecureAuth: { type: 'boolean', description: 'Sends the password also without TLS' },
          ca: { type: 'string', description: 'Certificates (PEM) to trust instead of the system’s' },
        },
      },
      recipients: { type: 'array', items: { type: 'string', format: 'email' }, minItems: 1, maxItems: 50 },
      from: { type: 'string', format: 'email' },
    },
  },
  secrets: ['/smtp/auth/pass'],
  adminOnly: true,
  maxPerMinute: 6,
  check: checkConfig,
  async send(message, { config }, signal) {
    const { smtp, recipients, from = senderOf(smtp) } = config as unknown as EmailConfig
    // What a library makes of a wrong address is another recipient.
    if (![from, ...recipients].every(isAddress)) throw new HubError('delivery_failed', 'An address is not valid')
    const { createTransport } = await import('nodemailer')
    const transport = createTransport(options(smtp))
    const stop = (): void => transport.close()
    signal.addEventListener('abort', stop, { once: true })
    try {
      const { subject, text, messageId, references } = mailOf(message)
      const envelope = { from, to: [...recipients] }
      const headers = { 'Auto-Submitted': 'auto-generated' }
      const mail = {
        envelope,
        from,
        to: [...recipients],
        subject,
        text,
        messageId,
        references: [...references],
        headers,
      }
      const { response, rejected } = await transport.sendMail(mail)
      const refused = rejected.length > 0 ? `; refused: ${rejected.map(String).join(', ')}` : ''
      return `${response}${refused}`.slice(0, 500)
    } catch (error) {
      throw failure(error, smtp)
    } finally {
      signal.removeEventListener('abort', stop)
      transport.close()
    }
  },
}

function options({ host, port, secure = port === 465, auth, allowInsecureAuth, ca }: EmailConfig['smtp']) {
  return {
    ...{ host, port: port ?? (secure ? 465 : 587), secure },
    ...(auth ? { auth: { ...auth } } : {}),
    // Where STARTTLS is missing the password would go in the clear.
    requireTLS: auth !== undefined && allowInsecureAuth !== true,
    tls: { minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) } as const,
    ...{
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      dnsTimeout: TIMEOUT_MS,
    },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  }
}

function senderOf({ host, auth }: EmailConfig['smtp']): string {
  if (auth && isAddress(auth.user)) return auth.user
  return /^[\d.]+$|:/.test(host) ? 'patchbay@localhost' : `patchbay@${host}`
}

interface SmtpError extends Error {
  readonly code?: string
  readonly responseCode?: number
}

/** A refusal for good is one with 5xx, and of user and password; the server may repeat the latter in its words. */
function failure(error: unknown, { auth }: EmailConfig['smtp']): HubError {
  const { message, code, responseCode = 0 } = error as SmtpError
  const permanent = responseCode >= 500 || (code === 'EAUTH' && responseCode < 400)
  const words = auth ? message.replaceAll(auth.pass, '[redacted]') : message
  const data = permanent ? { permanent } : {}
  return new HubError('delivery_failed', `The mail server: ${words}`.slice(0, 400), { data })
}
