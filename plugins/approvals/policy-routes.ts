import type { FieldError, PluginContext, UserActor } from 'patchbay/contract'
import { quoteName, requireSignIn, type StatedSettings, validationError } from 'patchbay/plugin-kit'
import { z } from 'zod'
import type { Policies } from './policies.ts'
import { type Policy, policySchema } from './rule-schema.ts'
import { teamOf } from './rules.ts'

const ref = z.object({ ref: z.string().max(512) })
const then = 'then'
const example = {
  rules: [
    { when: { tools: ['send_*'], arguments: { '/amount': { gt: 100 } } }, [then]: 'ask', who: 'owner' },
    { when: { destructive: true }, [then]: 'ask', who: 'caller', by: ['elicitation', 'console'], remember: '1h' },
  ],
}
const NONE: Policy = { rules: [] }

/** Adds the routes of rules. */
export function addPolicyRoutes(
  context: PluginContext<unknown>,
  policies: Policies,
  portable: Pick<StatedSettings, 'refuseStated'>,
): void {
  const { routes, servers, groups } = context

  const owned = (actor: UserActor, kind: 'servers' | 'groups', name: string) =>
    (kind === 'servers' ? servers : groups).find(actor, name, 'owner')

  for (const kind of ['servers', 'groups'] as const) {
    const thing = kind === 'servers' ? 'server' : 'group'
    const path = `/api/${kind}/{ref}/approvals`
    const answers = { 200: { description: 'The rules', schema: policySchema, example } }

    routes.add({
      ...{ method: 'GET', path, whole: true, access: 'user', tag: 'approvals', params: ref, answers },
      summary: `Rules by which calls of a ${thing} wait for a person, for its owner`,
      async handle({ actor, params }) {
        const { id } = await owned(actor, kind, params.ref)
        return { body: policies.get(`${thing}:${id}`) ?? NONE }
      },
    })

    routes.add({
      ...{ method: 'PUT', path, whole: true, access: 'user', tag: 'approvals', params: ref, answers },
      summary: `Set the rules by which calls of a ${thing} wait for a person; the first one that fits holds`,
      body: policySchema,
      audit: thing,
      async handle({ actor, params, body }) {
        const { id } = await owned(actor, kind, params.ref)
        // An agent has the keys of its user, and would allow its own calls.
        requireSignIn(actor, 'Rules')
        portable.refuseStated({ kind: thing, id })
        await refuseUnknownTeams(context, body, policies.get(`${thing}:${id}`))
        await policies.set({ kind: thing, id }, body)
        return { body }
      },
    })
  }
}

/**
 * Throws `validation_failed` for teams that do not exist; those of the rules `before` stay, so that other rules can be changed.
 * All users see the names of teams, and may name them as they do when they share.
 */
async function refuseUnknownTeams(
  context: Pick<PluginContext<unknown>, 'teams'>,
  policy: Policy,
  before: Policy = NONE,
): Promise<void> {
  const known = new Set(before.rules.map(({ who }) => who))
  const unknown = await unknownTeams(context, policy)
  const errors = unknown.filter(({ at }) => !known.has(policy.rules[at]?.who)).map(teamError)
  if (errors.length > 0) throw validationError(errors, 'The rules cannot be saved')
}

/** The teams of rules that do not exist, with the indexes of the rules. */
export async function unknownTeams(
  { teams }: Pick<PluginContext<unknown>, 'teams'>,
  { rules }: Pick<Policy, 'rules'>,
): Promise<readonly { readonly at: number; readonly team: string }[]> {
  const found: { at: number; team: string }[] = []
  for (const [at, { who }] of rules.entries()) {
    const team = teamOf(who)
    if (team !== undefined && !(await teams.byName(team))) found.push({ at, team })
  }
  return found
}

function teamError({ at, team }: { readonly at: number; readonly team: string }): FieldError {
  return { pointer: `#/rules/${at}/who`, code: 'enum', detail: `There is no team ${quoteName(team)}` }
}
