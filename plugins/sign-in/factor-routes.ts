import type { PluginContext, UserActor } from 'patchbay/contract'
import { z } from 'zod'
import type { Fail } from './errors.ts'
import type { Factor, Factors } from './factors.ts'
import { placeOf } from './passkeys/place.ts'
import { newRecoveryCodes, recoveryCodesLeft } from './recovery-codes.ts'
import { factorIsSet, factorSet, RECOVERY, removeRemains } from './setting.ts'
import { codeText } from './sign-in-routes.ts'
import type { Tables } from './tables.ts'
import { keyUri } from './totp.ts'
import type { Tries } from './tries.ts'
import type { Turns } from './turns.ts'
import type { Ways } from './ways.ts'

/** Parts of the routes of factors. */
export interface FactorDeps {
  readonly tables: Tables
  readonly factors: Factors
  readonly tries: Tries
  /** One change of a user's factors at a time. */
  readonly turns: Turns
  readonly ways: Ways
  readonly fail: Fail
  isRequired(role: UserActor['role']): boolean
}

const factor = z.object({
  id: z.string(),
  kind: z.enum(['totp', 'passkey']),
  label: z.string(),
  createdAt: z.string(),
  lastUsedAt: z.string().nullable(),
})
const EXAMPLE = {
  ...{ id: '6f0d1f0e-9d0b-4d6f-8f6a-0c7c8f7e1a11', kind: 'totp', label: 'Phone' },
  ...{ createdAt: '2026-11-21T09:30:00.000Z', lastUsedAt: null },
}

/** Adds the routes of one's own second factors. */
export function addFactorRoutes(context: PluginContext<unknown>, deps: FactorDeps): void {
  addListing(context, deps)
  addApps(context, deps)
  addChanges(context, deps)
}

/** A factor in an answer. */
export function factorView({ id, kind, label, created_at: createdAt, last_used_at: lastUsedAt }: Factor) {
  return { id, kind, label, createdAt, lastUsedAt }
}

function addListing({ routes, people }: PluginContext<unknown>, { tables, factors, isRequired }: FactorDeps): void {
  routes.add({
    ...{ method: 'GET', path: '/api/auth/factors', whole: true, access: 'user', tag: 'sign-in' },
    summary: 'Your second factors',
    answers: {
      200: {
        description: 'They, and the number of recovery codes that are left; `passkeys`: true where browsers make them',
        schema: z.object({
          ...{ items: z.array(factor), recoveryCodes: z.number().int() },
          ...{ required: z.boolean(), passkeys: z.boolean() },
        }),
        example: { items: [EXAMPLE], recoveryCodes: 10, required: false, passkeys: true },
      },
    },
    async handle({ actor, baseUrl }) {
      const person = await people.byId(actor.userId)
      const about = { required: isRequired(person?.role ?? actor.role), passkeys: placeOf(baseUrl) !== undefined }
      if (!person?.secondFactor) return { body: { items: [], recoveryCodes: 0, ...about } }
      const items = (await factors.list(actor.userId)).map(factorView)
      return { body: { items, recoveryCodes: await recoveryCodesLeft(tables, actor.userId), ...about } }
    },
  })
}

function addApps(context: PluginContext<unknown>, { tables, factors, tries, turns, fail }: FactorDeps): void {
  const { routes, signIns } = context
  const common = { method: 'POST', whole: true, access: 'user', tag: 'sign-in' } as const
  routes.add({
    ...common,
    path: '/api/auth/factors/totp',
    summary: 'Begin to set an authenticator app; its first code sets it',
    body: z.strictObject({ label: z.string().trim().min(1).max(64).default('Authenticator app') }),
    answers: {
      201: {
        description: 'The secret for the app, shown this once; `uri` is for a link or a QR code',
        schema: z.object({ id: z.string(), secret: z.string(), uri: z.string() }),
        example: {
          ...{ id: EXAMPLE.id, secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' },
          uri: 'otpauth://totp/hub.example:ada?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=hub.example',
        },
      },
      403: { description: 'reauth_required; insufficient_scope for an access key' },
    },
    async handle({ actor, body, baseUrl }) {
      signIns.requireProof(actor)
      await removeRemains(context, factors, actor.userId)
      const { id, secret } = await factors.begin(actor.userId, body.label)
      return { status: 201, body: { id, secret, uri: keyUri(secret, new URL(baseUrl).host, actor.name) } }
    },
  })

  routes.add({
    ...common,
    path: '/api/auth/factors/totp/confirm',
    summary:
      'Set the app with its first code; with the first app all your sign-ins end, and the answer holds a new one',
    body: z.strictObject({ id: z.string().min(1).max(64), code: codeText }),
    answers: {
      200: factorSet,
      401: { description: 'second_factor_failed' },
      403: { description: 'reauth_required; insufficient_scope for an access key' },
    },
    handle({ actor, body, ...request }) {
      signIns.requireProof(actor)
      return turns.take(actor.userId, async () => {
        const succeeded = tries.begin(`confirm ${actor.userId}`)
        if (!(await factors.confirm(actor.userId, body.id, body.code.replace(/\s/g, ''))))
          throw fail('second_factor_failed', 'The code is not one of this app now; check the clock of the device')
        succeeded()
        return factorIsSet(context, tables, actor, request)
      })
    },
  })
}

function addChanges(context: PluginContext<unknown>, { tables, factors, turns, ways, fail }: FactorDeps): void {
  const { routes, signIns, people } = context
  const common = { whole: true, access: 'user', tag: 'sign-in' } as const
  routes.add({
    ...common,
    ...{ method: 'POST', path: '/api/auth/factors/recovery-codes' },
    summary: 'Ten new recovery codes in place of those that you have',
    answers: {
      201: {
        description: 'The codes, shown this once; each is for one sign-in',
        schema: z.object({ recoveryCodes: z.array(z.string()) }),
        example: { recoveryCodes: RECOVERY },
      },
      403: { description: 'reauth_required; insufficient_scope for an access key' },
      404: { description: 'factor_not_found without a second factor' },
    },
    async handle({ actor }) {
      signIns.requireProof(actor)
      if (!(await people.byId(actor.userId))?.secondFactor)
        throw fail('factor_not_found', 'Recovery codes are for users who have a second factor')
      const recoveryCodes = await newRecoveryCodes(tables, actor.userId)
      context.audit(actor, 'recovery_codes_made', actor.name, actor.userId)
      return { status: 201, body: { recoveryCodes } }
    },
  })

  routes.add({
    ...common,
    ...{ method: 'DELETE', path: '/api/auth/factors/{id}' },
    summary: 'Remove one of your second factors; with the last one the recovery codes go',
    params: z.object({ id: z.string().min(1).max(64) }),
    answers: {
      204: { description: 'Removed' },
      403: { description: 'reauth_required; insufficient_scope for an access key' },
      404: { description: 'factor_not_found' },
      409: { description: 'last_sign_in: a passkey that is the last way in' },
    },
    async handle({ actor, params, baseUrl }) {
      signIns.requireProof(actor)
      const { userId, name } = actor
      await turns.take(userId, async () => {
        const found = (await factors.list(userId)).find(({ id }) => id === params.id)
        if (!found) throw fail('factor_not_found', 'You have no such second factor')
        if (found.kind === 'passkey' && !(await ways.remainsWithoutPasskey(userId, found.id, baseUrl)))
          throw fail('last_sign_in', 'This passkey is the last way to sign in')
        if ((await factors.remove(userId, found)) === 'removed') return
        // First: nobody is asked for what is not stored any more.
        await signIns.setSecondFactor(userId, false, false)
        await factors.removeAll(userId)
      })
      context.audit(actor, 'factor_removed', name, userId)
      return { status: 204 }
    },
  })
  routes.add({
    ...common,
    ...{ method: 'PATCH', path: '/api/auth/factors/{id}' },
    summary: 'Rename one of your second factors',
    params: z.object({ id: z.string().min(1).max(64) }),
    body: z.strictObject({ label: z.string().trim().min(1).max(64) }),
    answers: {
      204: { description: 'Renamed' },
      403: { description: 'reauth_required; insufficient_scope for an access key' },
      404: { description: 'factor_not_found' },
    },
    async handle({ actor, params, body }) {
      signIns.requireProof(actor)
      if (!(await factors.rename(actor.userId, params.id, body.label)))
        throw fail('factor_not_found', 'You have no such second factor')
      return { status: 204 }
    },
  })
}
