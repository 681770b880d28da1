import type { AuditedRequest } from 'patchbay/features'
import { flag } from 'patchbay/plugin-kit'
import { z } from 'zod'

/** The query of a route whose work is planned first. */
export const plannedQuery = z.strictObject({ dryRun: flag })

/** One page of a list in memory. */
export function page<T>(items: readonly T[], { limit, offset }: { readonly limit: number; readonly offset: number }) {
  return { items: items.slice(offset, offset + limit), total: items.length, limit, offset }
}

/** The fields of a request that the audit log keeps. */
export function audited({ requestId, clientAddress }: AuditedRequest): AuditedRequest {
  return { requestId, clientAddress }
}
