import type { JsonObject } from '../contract/json.ts'
import type { MovingRecords } from '../registry/owned/moving.ts'
import { OwnedSettings } from '../registry/owned/settings.ts'
import type { Store } from '../store/open.ts'
import { endpointOf, newToken, type PrepareDeps, prepareEndpoint, urlOf } from './endpoint.ts'
import { ENDPOINTS } from './kind.ts'
import { boundThing, findTarget, type Things } from './targets.ts'

/** Dependencies of moving endpoints. */
export interface MovingEndpointsDeps extends PrepareDeps {
  /** A transaction's, and what finds groups and servers in it. */
  readonly store: Store
  readonly things: Things
  readonly hasView: (view: string) => boolean
  /** Runs once, after the commit that changed any. */
  readonly changed: () => void
}

/**
 * Moves endpoints between hubs: the address is their secret. Only the hash of an inbound endpoint's token is stored, so the
 * token does not move: the imported endpoint gets a new one, which its owner must request.
 */
export function movingEndpoints(deps: MovingEndpointsDeps): MovingRecords {
  const { store, things, sealer, hasView, changed } = deps
  let isTold = false
  const settings = new OwnedSettings(store, ENDPOINTS, () => {
    if (!isTold) queueMicrotask(changed)
    isTold = true
  })
  return {
    kind: ENDPOINTS,
    settings,
    async open(setting, keep) {
      const { direction, target, enabled, limits } = endpointOf(setting)
      const bound = await boundThing(things, setting.owner, target)
      const url = urlOf(setting, sealer)
      return {
        ...{ name: setting.name, direction, enabled, limits: { ...limits } },
        ...(bound ? { group: bareRef(bound.ref, setting.owner.name) } : {}),
        ...(url === undefined ? {} : { url: keep(url, '/url') }),
      }
    },
    async prepare(_actor, owner, body, before) {
      const target = typeof body.group === 'string' ? await findTarget(things, owner, body.group, hasView) : undefined
      return prepareEndpoint(body, target, deps, tokenFor(body, before !== undefined))
    },
    remove: (actor, ref) => settings.remove(actor, ref, async () => undefined),
    renamed(body, { refOf }) {
      if (typeof body.group !== 'string') return body
      const at = body.group.lastIndexOf('/') + 1
      const [view, ref] = [body.group.slice(0, at), body.group.slice(at)]
      // As where it is looked up: a group comes before a server of its name.
      const asGroup = refOf('group', ref)
      return { ...body, group: `${view}${asGroup === ref ? refOf('server', ref) : asGroup}` }
    },
    warnings({ direction, enabled }) {
      if (direction === 'inbound')
        return ['Its token is a new one: POST /api/assistant/endpoints/{ref}/token gives you one']
      return enabled === false ? [] : ['Two hubs must not dial one address: switch it off in the other one']
    },
  }
}

/** One that is there keeps its token. */
function tokenFor({ direction }: JsonObject, isPresent: boolean) {
  return direction === 'inbound' && !isPresent ? newToken() : undefined
}

/** Returns the reference without the owner's name, which may differ in the other hub. */
function bareRef(ref: string, owner: string): string {
  const at = ref.lastIndexOf('/') + 1
  const [view, named] = [ref.slice(0, at), ref.slice(at)]
  return `${view}${named.startsWith(`${owner}~`) ? named.slice(owner.length + 1) : named}`
}
