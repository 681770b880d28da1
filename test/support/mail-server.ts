import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { Certificate } from './certificates.ts'

/** One mail as a server took it. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
  readonly secure: boolean
  readonly user: string | undefined
}

/** Options of a mail server. */
export interface MailServerOptions {
  /** For STARTTLS; without it the server does not offer it. */
  readonly certificate?: Certificate
  /** TLS from the first byte. Default false. */
  readonly implicit?: boolean
  /** Requires this user and password; it permits them without TLS too. */
  readonly auth?: { readonly user: string; readonly pass: string }
  /** Answers to a recipient with this status; 0: takes it. */
  readonly statusFor?: (recipient: string) => number
}

/** A real SMTP server on loopback that keeps received mails, and every received password. */
export async function startMailServer({ certificate, implicit, auth, statusFor }: MailServerOptions = {}) {
  const received: ReceivedMail[] = []
  const passwords: { readonly pass: string; readonly secure: boolean }[] = []
  const server = new SMTPServer({
    ...(certificate ?? {}),
    ...(implicit ? { secure: true } : {}),
    disabledCommands: [...(certificate ? [] : ['STARTTLS']), ...(auth ? [] : ['AUTH'])],
    allowInsecureAuth: true,
    authOptional: auth === undefined,
    disableReverseLookup: true,
    logger: false,
    onAuth({ username, password }, session, done) {
      passwords.push({ pass: password ?? '', secure: session.secure === true })
      if (username === auth?.user && password === auth?.pass) done(null, { user: username })
      else done(Object.assign(new Error(`No such password: ${password}`), { responseCode: 535 }))
    },
    onRcptTo({ address }, _session, done) {
      const status = statusFor?.(address) ?? 0
      if (status === 0) done()
      else done(Object.assign(new Error(`Not ${address}`), { responseCode: status }))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString(),
          secure: session.secure === true,
          user: session.user as string | undefined,
        })
        done(null, 'taken')
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    passwords,
    stop: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}
