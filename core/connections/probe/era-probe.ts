import type { ErrorCode } from '../../contract/errors.ts'
import type { Era } from '../../domain/era.ts'
import { eraOf, LATEST_LEGACY, MODERN_VERSION } from '../../domain/era.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { fromWireError } from '../../transport-kit/wire-error.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import type { Launcher } from '../connection/launcher.ts'
import { openProbe } from './probe-connection.ts'

/** Longest wait for the response to `server/discover`, in milliseconds. */
const PROBE_MS = 3_000
/** The error codes that only a modern server sends. */
const MODERN_ERRORS: ReadonlySet<unknown> = new Set([-32020, -32021, -32022])
/** The statuses with which a legacy server over HTTP rejects an unknown method. */
const REFUSALS: ReadonlySet<unknown> = new Set([400, 404, 405])
/** Errors of a program that did not start, which say nothing about its era. */
const NOT_STARTED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['draining', 'stopped', 'spawn_failed'])

/** True when servers of the plan's transport may speak either era, so that a probe is needed. */
export function mayBeModern({ modern }: LaunchPlan): boolean {
  return modern
}

/** A probe for the era of a server that is about to be launched. */
export interface EraProbe {
  /** Undefined: the response does not show the era. Rejects with an error that a person ends at a page, and with no other. */
  readonly verdict: Promise<Era | undefined>
  /** Aborts the probe; resolves when its connection and process have ended. */
  end(reason: WireError): Promise<void>
}

/**
 * Sends `server/discover` over a connection of its own, for a program to a process of its own: a program that does not
 * know the method may never recover from it.
 */
export function probeEra(launcher: Launcher, plan: LaunchPlan): EraProbe {
  const isProgram = plan.child !== undefined
  const { outcome, end } = openProbe(launcher, { ...plan, startTimeoutMs: PROBE_MS }, 'modern')
  const verdict = outcome.then(found => {
    if (found.kind === 'opened') return eraOf(found.message.protocolVersion)
    if (found.kind === 'none' || found.end.workerLost) return undefined
    // A server that wants sign-in before all else says nothing of its era, and would answer a handshake of the other one wrongly.
    if (found.end.reason.data?.connectUrl !== undefined) throw fromWireError(found.end.reason)
    return verdictOf(found.end.reason, isProgram)
  })
  return { verdict, end }
}

/** True when a server rejects the legacy handshake as only a modern server does. */
export function saysModern(reason: WireError): boolean {
  return verdictOf(reason, false) === 'modern'
}

/** The error for a server that rejects the era its configuration demands; undefined where it failed otherwise. */
export function notSpoken(reason: WireError, wanted: Era): WireError | undefined {
  const other = wanted === 'modern' ? 'legacy' : 'modern'
  if (verdictOf(reason, false) !== other) return undefined
  const versions = wanted === 'modern' ? MODERN_VERSION : `the versions up to ${LATEST_LEGACY}`
  const message = `The server does not speak ${versions}, which "era": "${wanted}" asks for; set "era" to "auto"`
  return { code: 'era_not_spoken', message: `${message}. It said: ${reason.message}` }
}

function verdictOf({ code, data }: WireError, isProgram: boolean): Era | undefined {
  const supported = versionsIn(data)
  const { status, rpcCode } = data ?? {}
  if (supported) return supported.some(version => eraOf(version) === 'legacy') ? 'legacy' : 'modern'
  if (MODERN_ERRORS.has(rpcCode)) return 'modern'
  if (isProgram) return NOT_STARTED.has(code) ? undefined : 'legacy'
  if (rpcCode !== undefined && status === undefined) return 'legacy'
  return REFUSALS.has(status) ? 'legacy' : undefined
}

/** The versions that the server named, in its result or in its rejection of the hub's version. */
function versionsIn(data: WireError['data']): readonly string[] | undefined {
  const refusal = data?.rpcData
  const named =
    typeof refusal === 'object' && refusal !== null && 'supported' in refusal ? refusal.supported : data?.supported
  return Array.isArray(named) ? named.filter(version => typeof version === 'string') : undefined
}
