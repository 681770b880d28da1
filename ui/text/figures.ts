import { t } from './t.ts'

/** Note about the figures of calls, on a page with the calls of all servers. */
export function callsNote(): string {
  return t(
    'Calls are tool calls that ended, including those that reached no server. Failed calls have any outcome but success; the error rate is their share. Response times are those of calls that reached a server.',
  )
}

/** The same for figures of one server or of its tools. */
export function serverCallsNote(): string {
  return t(
    'Calls are tool calls that ended and reached this server. Failed calls have any outcome but success; the error rate is their share.',
  )
}

/** The same for rows of servers or tools. */
export function callRowsNote(): string {
  return t('A row of a server or tool counts the calls that ended and reached it.')
}

/** Describes what the widget of this query counts; undefined if its source is unknown or has no sentence. */
export function queryNote(query: string): string | undefined {
  const [, name = '', rest = ''] = /^\s*([\w.]*)(.*)$/s.exec(query) ?? []
  const note = sourceNote(name.toLowerCase(), /\bserver\s*=/.test(rest))
  return /\bby\s+(?:server|tool)\b/.test(rest) ? [note, callRowsNote()].filter(Boolean).join(' ') : note
}

/** Describes in a sentence what a dashboard source counts; undefined for an unknown name. `ofServer`: of one server alone. */
export function sourceNote(name: string, ofServer = false): string | undefined {
  const calls = ofServer
    ? t('Tool calls that ended and reached this server.')
    : t('Tool calls that ended, including those that reached no server.')
  const failed = ofServer
    ? t('Calls that reached this server, with any outcome but success.')
    : t('Calls with any outcome but success, including those that reached no server.')
  const times = t('Response times of tool calls that reached a server.')
  const starts = t('Starts of servers, from the attempt to connect until their lists were read.')
  const api = t('Requests to the REST API of the hub by all users; failed are those with a status of 500 or more.')
  const faults = t('Log records of level ERROR, and calls with any outcome but success.')
  const notes: Readonly<Record<string, string>> = {
    request_count: calls,
    request_rate: calls,
    error_count: failed,
    error_rate: t('Share of calls with any outcome but success.'),
    success_rate: t('Share of calls with the outcome success.'),
    avg_response_time: times,
    min_response_time: times,
    max_response_time: times,
    p50_response_time: times,
    p95_response_time: times,
    p99_response_time: times,
    start_count: starts,
    avg_start_time: starts,
    p95_start_time: starts,
    api_request_count: api,
    api_error_count: api,
    avg_api_time: api,
    p95_api_time: api,
    record_count: t('Log records of all levels, among them one for each call.'),
    error_record_count: faults,
    servers_offline: t('Servers that are neither online nor connecting, including stopped ones.'),
    sessions: t('Open MCP sessions.'),
    cpu_usage: t('Use of all processors of the machine.'),
    servers: callRowsNote(),
    tools: callRowsNote(),
    users: t('Calls by the user who made them, including those that reached no server.'),
    errors: faults,
  }
  return Object.hasOwn(notes, name) ? notes[name] : undefined
}

/** Describes in a sentence what the metric of an alert rule counts; undefined for an unknown name. `ofServer`: of one server alone. */
export function metricNote(name: string, ofServer = false): string | undefined {
  const notes: Readonly<Record<string, string>> = {
    server_status: t('A server that was stopped or sleeps has no state here.'),
    servers_offline: t('Servers that should be online and are not, without those in the first 30 s of a start.'),
    restarts: t('Connections to a server after the first one.'),
    log_count: t('Log records of servers; in a rule of an administrator for all together, also those of the hub.'),
    event_loop_lag: t('Longest time in which the hub itself was blocked.'),
  }
  return Object.hasOwn(notes, name) ? notes[name] : sourceNote(name, ofServer)
}
