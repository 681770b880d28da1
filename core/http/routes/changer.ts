import { type ErrorCode, HubError, type HubErrorOptions } from '../../contract/errors.ts'
import type { UserActor } from '../../contract/records.ts'
import type { AuditRegistry } from '../../registry/api.ts'
import type { RunnableRoute } from '../pipeline.ts'
import type { Route } from '../route.ts'

/**
 * Returns the same routes. Their `version_conflict` names the user who changed the record, if the caller may see that: an
 * administrator, or the one who made the change.
 */
export function namingChanger(routes: readonly Route[], audit: Pick<AuditRegistry, 'changer'>): Route[] {
  return (routes as readonly unknown[] as readonly RunnableRoute[]).map(route => {
    if (route.method === 'GET') return route
    const handle: RunnableRoute['handle'] = async context => {
      try {
        return await route.handle(context)
      } catch (error) {
        throw await withChanger(error, context.actor, audit)
      }
    }
    return { ...route, handle }
  }) as unknown as Route[]
}

async function withChanger(
  error: unknown,
  actor: UserActor | undefined,
  audit: Pick<AuditRegistry, 'changer'>,
): Promise<unknown> {
  if (!actor || !(error instanceof HubError) || error.code !== 'version_conflict') return error
  const { code, message, hint, data } = error
  const { kind, record, changedAt: since } = data ?? {}
  if (typeof kind !== 'string' || typeof record !== 'string' || typeof since !== 'string') return error
  const changedBy = await audit.changer(actor, { kind, record, since })
  if (changedBy === undefined) return error
  const more: HubErrorOptions = { data: { ...data, changedBy } }
  return new HubError<ErrorCode>(code, message, hint === undefined ? more : { ...more, hint })
}
