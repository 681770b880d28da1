import type { ServerSettings } from '../../contract/records.ts'
import { readTable } from '../json/field-table.ts'
import type { Fields } from '../json/fields.ts'
import { DEFAULT_LAZY_IDLE_MS, DEFAULT_MAX_TIMEOUT_MS, SERVER_TABLE } from './server-table.ts'

/** The fields of every server, read and with their defaults. */
export interface CommonFields {
  readonly settings: Omit<ServerSettings, 'name' | 'transport' | 'transportInferred' | 'config' | 'secrets'>
  readonly name?: string
  readonly owner?: string
  readonly reviewed?: string
}

/** Parses the fields common to all transports. Problems are added to `fields.errors`. */
export function readCommon(fields: Fields): CommonFields {
  const { name, owner, reviewed, timeout, maxTimeout, startTimeout, idleTimeout, ...values } = readTable(
    SERVER_TABLE,
    fields,
  )
  if (maxTimeout !== undefined && maxTimeout < timeout) {
    const detail = `"maxTimeout" is ${maxTimeout}; it must be at least "timeout" (${timeout})`
    fields.problem('maxTimeout', 'range', detail)
  }
  const idleTimeoutMs = idleTimeout ?? (values.start === 'lazy' ? DEFAULT_LAZY_IDLE_MS : undefined)
  return {
    settings: {
      ...values,
      timeoutMs: timeout,
      maxTimeoutMs: maxTimeout ?? Math.max(timeout, DEFAULT_MAX_TIMEOUT_MS),
      ...(startTimeout === undefined ? {} : { startTimeoutMs: startTimeout }),
      ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
    },
    ...(name === undefined ? {} : { name }),
    ...(owner === undefined ? {} : { owner }),
    ...(reviewed === undefined ? {} : { reviewed }),
  }
}
