import { HubError, type PluginContext, type UserActor } from 'patchbay/contract'
import { z } from 'zod'
import type { Fail } from '../errors.ts'
import type { Factors } from '../factors.ts'
import type { Proofs } from '../proofs.ts'
import { factorIsSet, factorSet, removeRemains } from '../setting.ts'
import { SESSION, session, ticketText } from '../sign-in-routes.ts'
import type { Tables } from '../tables.ts'
import type { Ticket, Tickets } from '../tickets.ts'
import type { Turns } from '../turns.ts'
import { newPasskey, passkeyAnswer } from './answers.ts'
import type { Asked, PasskeyChecks } from './checks.ts'
import type { Place } from './place.ts'
import type { Passkeys } from './stored.ts'

/** Parts of the routes of passkeys. */
export interface PasskeyDeps {
  readonly tables: Tables
  readonly factors: Factors
  readonly passkeys: Passkeys
  readonly checks: PasskeyChecks
  readonly proofs: Proofs
  readonly tickets: Tickets
  readonly turns: Turns
  readonly fail: Fail
}

const OPTIONS = { challenge: 'mK3v…', rpId: 'hub.example', userVerification: 'required', timeout: 300_000 }
const options = z.object({ options: z.looseObject({ challenge: z.string() }) })
const code = z.object({ secondFactor: z.object({ ticket: z.string(), code: z.string() }) })

/** Adds the routes of passkeys. */
export function addPasskeys(context: PluginContext<unknown>, deps: PasskeyDeps): void {
  addSetting(context, deps)
  addQuestions(context, deps)
  addSignInByPasskey(context, deps)
}

function addSetting(context: PluginContext<unknown>, { tables, factors, passkeys, checks, turns }: PasskeyDeps): void {
  const { routes, signIns } = context
  const common = { method: 'POST', whole: true, access: 'user', tag: 'sign-in' } as const
  const refused = {
    403: { description: 'reauth_required; insufficient_scope for an access key' },
    409: { description: 'passkeys_unavailable at an IP address or without https; quota_factors' },
  }
  routes.add({
    ...common,
    path: '/api/auth/factors/passkeys/options',
    summary: 'Begin to set a passkey: what the browser is asked, valid for five minutes',
    answers: {
      200: {
        description: 'The options, in the form of `PublicKeyCredentialCreationOptionsJSON`',
        schema: options,
        example: { options: { challenge: OPTIONS.challenge, rp: { id: 'hub.example', name: 'hub.example' } } },
      },
      ...refused,
    },
    async handle({ actor, baseUrl }) {
      signIns.requireProof(actor)
      const place = checks.place(baseUrl)
      await factors.requireRoom(actor.userId)
      return { body: { options: await checks.newOptions(actor, place) } }
    },
  })

  routes.add({
    ...common,
    path: '/api/auth/factors/passkeys',
    summary: 'Set the passkey that the browser has made; with the first factor all your sign-ins end',
    body: z.strictObject({
      label: z.string().trim().min(1).max(64).default('Passkey'),
      passkey: newPasskey.meta({ description: 'The form of `PublicKeyCredential.toJSON()`' }),
    }),
    bodyLimit: 32_768,
    answers: { 200: factorSet, 401: { description: 'passkey_refused, second_factor_ended' }, ...refused },
    handle({ actor, body, baseUrl, ...request }) {
      signIns.requireProof(actor)
      const place = checks.place(baseUrl)
      return turns.take(actor.userId, async () => {
        await removeRemains(context, factors, actor.userId)
        await factors.requireRoom(actor.userId)
        await passkeys.add(actor.userId, body.label, await checks.made(actor.userId, place, body.passkey))
        return factorIsSet(context, tables, actor, request)
      })
    },
  })
}

function addQuestions({ routes }: PluginContext<unknown>, { checks, tickets }: PasskeyDeps): void {
  routes.add({
    ...{ method: 'POST', path: '/api/auth/passkeys/options', whole: true, access: 'public', tag: 'sign-in' },
    summary: 'What the browser asks a passkey, to sign in or to prove again who one is; valid for five minutes',
    body: z.strictObject({
      ticket: ticketText.optional().meta({ description: 'Of a sign-in by password, or of a reset link' }),
      reauth: z.literal(true).optional().meta({ description: 'For `POST /api/auth/reauth`; needs a session token' }),
    }),
    answers: {
      200: {
        description: 'The options, in the form of `PublicKeyCredentialRequestOptionsJSON`',
        schema: options,
        example: { options: OPTIONS },
      },
      401: { description: 'second_factor_ended' },
      404: { description: 'factor_not_found: the user has no passkey for this address' },
      409: { description: 'passkeys_unavailable at an IP address or without https' },
    },
    async handle({ body: { ticket: text, reauth }, actor, baseUrl }) {
      const place = checks.place(baseUrl)
      if (text !== undefined) {
        const ticket = openTicket(tickets, text)
        await tickets.requireOpen(ticket)
        return { body: { options: await checks.options(ofTicket(ticket, place)) } }
      }
      if (!reauth) return { body: { options: await checks.options({ use: 'sign-in', place }) } }
      const { userId } = requireSession(actor)
      return { body: { options: await checks.options({ use: 'reauth', place, of: userId, owner: userId }) } }
    },
  })
}

function addSignInByPasskey(context: PluginContext<unknown>, { checks, proofs, tickets }: PasskeyDeps): void {
  const { routes, signIns } = context
  routes.add({
    ...{ method: 'POST', path: '/api/auth/passkeys/sign-in', whole: true, access: 'public', tag: 'sign-in' },
    summary: 'Sign in with a passkey: without a password, or as the second step; slowed down after failures',
    body: z.strictObject({
      passkey: passkeyAnswer.meta({ description: 'The form of `PublicKeyCredential.toJSON()`' }),
      ticket: ticketText.optional().meta({ description: 'As for the options; absent without a password' }),
    }),
    answers: {
      200: {
        description: 'Signed in; for the ticket of a reset link the answer that `POST /api/auth/reset` takes',
        schema: z.union([session, code]),
        example: SESSION,
      },
      401: { description: 'passkey_refused, second_factor_ended' },
      409: { description: 'passkeys_unavailable at an IP address or without https' },
    },
    async handle({ body, baseUrl, actor: _, ...request }) {
      const place = checks.place(baseUrl)
      if (body.ticket === undefined) {
        const user = await checks.check({ use: 'sign-in', place }, body.passkey)
        return { body: await signIns.open(user.id, 'passkey', request) }
      }
      const ticket = openTicket(tickets, body.ticket)
      const check = () => checks.check(ofTicket(ticket, place), body.passkey)
      const given = await proofs.answerByPasskey(ticket, check)
      if (ticket.purpose === 'reset') return { body: { secondFactor: { ticket: body.ticket, code: given } } }
      return { body: await signIns.open(ticket.userId, 'password and passkey', request) }
    },
  })
}

function openTicket(tickets: Tickets, text: string): Ticket {
  return tickets.open(text, 'sign-in', 'reset')
}

function ofTicket({ id: of, userId: owner }: Ticket, place: Place): Asked {
  return { use: 'sign-in', place, of, owner }
}

/** Throws `insufficient_scope` without a session token. */
function requireSession(actor: UserActor | undefined): UserActor {
  if (actor?.credential.kind === 'session') return actor
  throw new HubError('insufficient_scope', 'This needs a session token')
}
