import type { ErrorKind } from 'patchbay/contract'

/** The codes of this plugin. */
export const ERRORS: Readonly<Record<string, ErrorKind>> = {
  quota_rate: {
    status: 429,
    title: 'Too many calls in this minute',
    remedy: 'Wait as long as the error says, and call again.',
    rpc: -32603,
    retry: true,
  },
  quota_day: {
    status: 429,
    title: 'The calls of this day are used up',
    remedy: 'Wait until the next day in UTC, or ask the one who set the quota for more.',
    rpc: -32603,
    retry: true,
  },
  quota_at_once: {
    status: 429,
    title: 'Too many calls at once',
    remedy: 'Wait until other calls have ended, and call again.',
    rpc: -32603,
    retry: true,
  },
  quota_tokens: {
    status: 429,
    title: 'The tokens of results of this day are used up',
    remedy: 'Wait until the next day in UTC, or ask the one who set the quota for more.',
    rpc: -32603,
    retry: true,
  },
  quota_client_unknown: {
    status: 404,
    title: 'No such client to limit',
    remedy:
      'GET /api/oauth/grants lists your connected apps. One that another issuer lets in is known by its first call.',
  },
  quota_plans: {
    status: 409,
    title: 'Too many quotas',
    remedy: 'Remove quotas that you do not need.',
  },
}

/** Limits of what the plugin keeps, by their names in the settings. */
export const LIMITS = {
  /** Quotas that one user has set for keys and clients. */
  quotasPerUser: 200,
  /** Quotas of the tools of one server. */
  toolQuotasPerServer: 100,
  /** Rows of the use of one user in one day; calls beyond are counted in one row. */
  usageRowsPerUserDay: 100,
  /** Days for which use is kept. */
  usageDays: 31,
}
