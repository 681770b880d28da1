import type { Era } from '../../domain/era.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { Connection } from '../connection/connection.ts'
import type { ConnectionEnd } from '../connection/connection-events.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import type { Launcher } from '../connection/launcher.ts'
import type { OpenedMessage } from '../protocol.ts'

/** The outcome of a connection that is opened only as a test. */
export type ProbeOutcome =
  | { readonly kind: 'opened'; readonly message: OpenedMessage }
  | { readonly kind: 'ended'; readonly end: ConnectionEnd }
  /** It could not be started, or was aborted. */
  | { readonly kind: 'none' }

/** A test connection in progress. */
export interface ProbeConnection {
  /** Never rejects. */
  readonly outcome: Promise<ProbeOutcome>
  /** Ends the connection; resolves when its process has ended too. */
  end(reason: WireError): Promise<void>
}

/** Opens a connection that no call will use. Never throws. */
export function openProbe(launcher: Launcher, plan: LaunchPlan, era: Era): ProbeConnection {
  const { promise, resolve } = Promise.withResolvers<ProbeOutcome>()
  let connection: Connection
  try {
    connection = launcher.launch(plan, {
      era,
      catalog: false,
      events: {
        opened: message => resolve({ kind: 'opened', message }),
        unusable: () => undefined,
        ended: end => resolve({ kind: 'ended', end }),
        lost: () => undefined,
        input: () => undefined,
        answered: () => undefined,
        list: () => undefined,
        catalog: () => undefined,
        stale: () => undefined,
        notification: () => undefined,
        log: () => undefined,
      },
    })
  } catch {
    // The real start fails the same way and reports it.
    return { outcome: Promise.resolve({ kind: 'none' }), end: async () => undefined }
  }
  return {
    outcome: promise,
    async end(reason) {
      resolve({ kind: 'none' })
      await connection.close(reason)
    },
  }
}
