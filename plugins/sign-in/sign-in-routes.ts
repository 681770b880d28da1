import { HubError, type PluginContext, type UserActor } from 'patchbay/contract'
import type { SignInRequest } from 'patchbay/features'
import { z } from 'zod'
import type { Fail } from './errors.ts'
import { passkeyAnswer } from './passkeys/answers.ts'
import type { PasskeyChecks } from './passkeys/checks.ts'
import type { Proofs } from './proofs.ts'
import type { Tickets } from './tickets.ts'

/** The text of a ticket. */
export const ticketText = z.string().min(1).max(1_024)
/** A code of an app, or a recovery code. */
export const codeText = z.string().min(1).max(64)
/** The proof that a user still owes. */
export const asked = z.object({
  secondFactor: z.object({ ticket: z.string(), methods: z.array(z.string()), expiresAt: z.string() }),
})
/** A session, as an example. */
export const SESSION = {
  token: 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIwMUpEN0MwQTExIn0.c2lnbmF0dXJl',
  expiresAt: '2026-11-21T21:30:00.000Z',
}

const reauthBody = z.strictObject({
  password: z.string().max(2_048).optional(),
  ticket: ticketText.optional(),
  code: codeText.optional(),
  passkey: passkeyAnswer.optional(),
})
type ReauthBody = z.infer<typeof reauthBody>

/** Parts of sign-ins. */
export interface SignInParts {
  readonly proofs: Proofs
  readonly tickets: Tickets
  readonly checks: PasskeyChecks
  readonly fail: Fail
}

/** The answer of a sign-in, as `POST /api/auth/login` has it. */
export const session = z.looseObject({ token: z.string(), expiresAt: z.string() })

/** Adds the second step of a sign-in, and the proof of who somebody is in one that is open. */
export function addSignIn(context: PluginContext<unknown>, { proofs, tickets, checks, fail }: SignInParts): void {
  const { routes, people, signIns } = context
  const common = { method: 'POST', whole: true, tag: 'sign-in' } as const
  /** Checks one of the two steps. Returns what is asked for in the second one. */
  const proved = async (actor: UserActor, body: ReauthBody, request: SignInRequest & { readonly baseUrl: string }) => {
    const { password, ticket, code, passkey } = body
    if (passkey) {
      if (Object.keys(body).length > 1) throw wrongFields()
      // It is two factors at once: the device, and what it recognises the person by.
      const { userId } = actor
      const place = checks.place(request.baseUrl)
      await checks.check({ use: 'reauth', place, of: userId, owner: userId }, passkey)
      return undefined
    }
    if (ticket === undefined && code === undefined && password !== undefined) {
      await signIns.checkPassword(actor, password, request)
      return signIns.ask(actor.userId, 'reauth')
    }
    if (ticket === undefined || code === undefined || password !== undefined) throw wrongFields()
    const user = await people.byId(actor.userId)
    if (!user) throw fail('second_factor_ended', 'The user is gone')
    await proofs.check(user, 'reauth', { ticket, code })
    return undefined
  }
  const refused = { 401: { description: 'second_factor_failed, second_factor_ended' } }

  routes.add({
    ...common,
    path: '/api/auth/second-factor',
    access: 'public',
    summary: 'The second step of a sign-in: a code of an app, or a recovery code; slowed down after failures',
    body: z.strictObject({ ticket: ticketText, code: codeText }),
    answers: { 200: { description: 'Signed in', schema: session, example: SESSION }, ...refused },
    async handle({ body, ...request }) {
      const ticket = tickets.open(body.ticket, 'sign-in')
      const user = await people.byId(ticket.userId)
      if (!user) throw fail('second_factor_ended', 'The user of this sign-in is gone')
      const method = await proofs.answer(user, ticket, body.code)
      return { body: await signIns.open(user.id, method, request) }
    },
  })

  routes.add({
    ...common,
    path: '/api/auth/reauth',
    access: 'user',
    summary:
      'Prove again who you are, for ten minutes: a passkey; or the password, and then the code of a second factor',
    body: reauthBody,
    answers: {
      200: {
        description: 'Proved; or the code that is still needed, which a second request brings with the ticket',
        schema: z.union([z.object({ provenUntil: z.string() }), asked]),
        example: { provenUntil: '2026-11-21T09:40:00.000Z' },
      },
      ...refused,
      403: { description: 'password_mismatch; insufficient_scope for an access key' },
    },
    async handle({ body, actor, ...request }) {
      if (actor.credential.kind !== 'session')
        throw new HubError('insufficient_scope', 'This needs a session token, and another credential was sent')
      const secondFactor = await proved(actor, body, request)
      if (secondFactor) return { body: { secondFactor } }
      return { body: { provenUntil: signIns.proved(actor) } }
    },
  })
}

function wrongFields(): HubError {
  const detail = 'Send "password" alone, "ticket" and "code", or "passkey" alone'
  return new HubError('validation_failed', detail, { errors: [{ pointer: '#', code: 'required', detail }] })
}
