import { HubError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'
import type { AttachedHub, AttachedThing } from '../features/attached.ts'

/** Base of a contribution `attachedSettings`: it knows which of the settings an entry of the settings file states. */
export abstract class StatedSettings {
  #hub: AttachedHub | undefined

  opened(hub: AttachedHub): void {
    this.#hub = hub
  }

  /** Throws `settings_read_only` for settings that the settings file states. */
  refuseStated(thing: Pick<AttachedThing, 'kind' | 'id'>): void {
    this.#hub?.refuseStated(thing)
  }

  /** True for settings that stay as they are written in the settings file. */
  isStated(thing: Pick<AttachedThing, 'kind' | 'id'>): boolean {
    return this.#hub?.isStated(thing) ?? false
  }
}

/** Throws `insufficient_scope` for an access key. `settings`: what cannot be set with one, such as `Rules`. */
export function requireSignIn({ credential }: UserActor, settings: string): void {
  if (credential.kind === 'session') return
  throw new HubError('insufficient_scope', `${settings} are set with a sign-in, and not with an access key`, {
    hint: 'Sign in to do this.',
  })
}
