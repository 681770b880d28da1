import type { ErrorCode, WireError } from '../../contract/errors.ts'
import type { Era } from '../../domain/era.ts'
import { eraOf, LATEST_LEGACY, MODERN_VERSION } from '../../domain/era.ts'
import type { Launcher, LaunchPlan } from '../connection/launcher.ts'
import { openProbe } from './probe-connection.ts'

/** Longest wait for the answer to the first question of the modern era, in milliseconds. */
const PROBE_MS = 3_000
/** The errors that only a server of the modern era knows. */
const MODERN_ERRORS: ReadonlySet<unknown> = new Set([-32020, -32021, -32022])
/** How a server of the earlier era over HTTP refuses what it does not know. */
const REFUSALS: ReadonlySet<unknown> = new Set([400, 404, 405])
/** A program that could not even be started says nothing about what it speaks. */
const NOT_STARTED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['draining', 'stopped', 'spawn_failed'])

/** Transports whose servers may speak either era; what others speak is known without asking. */
const EITHER: ReadonlySet<string> = new Set(['stdio', 'streamable-http'])

export function mayBeModern({ settings }: LaunchPlan): boolean {
  return EITHER.has(settings.transport)
}

/** Asks a server of a plan that is about to be launched which era it speaks. */
export interface EraProbe {
  /** Undefined: its answer says nothing. Never rejects. */
  readonly verdict: Promise<Era | undefined>
  /** Resolves when nothing of the probe is left. */
  end(reason: WireError): Promise<void>
}

/**
 * Sends `server/discover` over a connection of its own, for a program to a process of its own: one that does not know the
 * question may be confused by it for ever.
 */
export function probeEra(launcher: Launcher, plan: LaunchPlan): EraProbe {
  const isProgram = plan.child !== undefined
  const { outcome, end } = openProbe(launcher, { ...plan, startTimeoutMs: PROBE_MS }, 'modern')
  const verdict = outcome.then(found => {
    if (found.kind === 'opened') return eraOf(found.message.protocolVersion)
    if (found.kind === 'none' || found.end.workerLost) return undefined
    return verdictOf(found.end.reason, isProgram)
  })
  return { verdict, end }
}

/** Whether a server refuses the handshake of the earlier era as only one of the modern era does. */
export function saysModern(reason: WireError): boolean {
  return verdictOf(reason, false) === 'modern'
}

/** What to say of a server that refuses the one era that its configuration wants; undefined where it failed otherwise. */
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

/** The versions that the server named, in its answer or in its refusal of the hub's version. */
function versionsIn(data: WireError['data']): readonly string[] | undefined {
  const refusal = data?.rpcData
  const named =
    typeof refusal === 'object' && refusal !== null && 'supported' in refusal ? refusal.supported : data?.supported
  return Array.isArray(named) ? named.filter(version => typeof version === 'string') : undefined
}
