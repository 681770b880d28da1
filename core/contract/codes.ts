import type { JsonObject, JsonValue } from './json.ts'

/**
 * Every code that a person can meet, in one table. A test compares it with `docs/reference/errors.md`.
 *
 * `status` is the HTTP status outside `/mcp`; `retry` marks errors where an unchanged retry may succeed; `rpc` is the
 * JSON-RPC code under `/mcp` where it is not the default (−32600 for a 4xx, −32603 for a 5xx).
 */
export const ERROR_CODES = {
  // 400
  header_duplicate: { status: 400, title: 'A header that may come once came twice' },
  credentials_conflict: { status: 400, title: 'Two different credentials in one request' },
  token_in_url: { status: 400, title: 'A credential in the URL' },
  path_invalid: { status: 400, title: 'The path is not in canonical form' },
  validation_failed: { status: 400, title: 'Some fields are not valid' },
  json_empty: { status: 400, title: 'The body is empty', rpc: -32700 },
  json_invalid: { status: 400, title: 'The body is not JSON', rpc: -32700 },
  json_encoding: { status: 400, title: 'The body is not UTF-8', rpc: -32700 },
  json_not_object: { status: 400, title: 'The body is not a JSON object' },
  json_duplicate_key: { status: 400, title: 'A JSON object names a key twice' },
  json_too_deep: { status: 400, title: 'The JSON is nested too deeply' },
  json_too_large: { status: 400, title: 'The JSON has too many members' },
  key_forbidden: { status: 400, title: 'A JSON key that is never accepted' },
  export_newer: { status: 400, title: 'The export comes from a newer hub' },
  // 401
  unauthenticated: { status: 401, title: 'No usable credential' },
  token_invalid: { status: 401, title: 'The token is not valid' },
  token_expired: { status: 401, title: 'The token has expired' },
  token_revoked: { status: 401, title: 'The token was revoked' },
  token_wrong_audience: { status: 401, title: 'The token is for something else' },
  login_failed: { status: 401, title: 'User name or password is wrong' },
  // 403
  host_not_allowed: { status: 403, title: 'This Host is not served here' },
  origin_not_allowed: { status: 403, title: 'This Origin may not call the hub' },
  address_not_allowed: { status: 403, title: 'Not from this address' },
  admin_only: { status: 403, title: 'Administrators only' },
  not_owner: { status: 403, title: 'Only its owner may do this' },
  owner_rights_needed: { status: 403, title: 'It needs the rights of the owner' },
  insufficient_scope: { status: 403, title: 'The key is not made for this' },
  field_forbidden: { status: 403, title: 'A field that you may not set' },
  password_mismatch: { status: 403, title: 'The present password is wrong' },
  reset_link_invalid: { status: 403, title: 'The link cannot be used any more' },
  password_off: { status: 403, title: 'Passwords do not sign in here' },
  second_factor_required: { status: 403, title: 'A second factor must be set first' },
  second_factor_unavailable: { status: 403, title: 'The second factor cannot be checked' },
  reauth_required: { status: 403, title: 'A new proof of who you are is needed' },
  password_change_required: { status: 403, title: 'The password must be changed first' },
  stdio_not_permitted: { status: 403, title: 'Running commands is not permitted' },
  env_key_forbidden: { status: 403, title: 'A variable that you may not set' },
  cwd_forbidden: { status: 403, title: 'A working directory outside the server’s own folder' },
  network_not_permitted: { status: 403, title: 'More network than was granted' },
  blocked_by_plugin: { status: 403, title: 'A plugin refused it' },
  url_address_blocked: { status: 403, title: 'An address that may not be reached' },
  // 404
  route_not_found: { status: 404, title: 'No such route' },
  server_not_found: { status: 404, title: 'No such server' },
  group_not_found: { status: 404, title: 'No such group' },
  user_not_found: { status: 404, title: 'No such user' },
  team_not_found: { status: 404, title: 'No such team' },
  share_not_found: { status: 404, title: 'It is not shared with them' },
  key_not_found: { status: 404, title: 'No such access key' },
  sign_in_not_found: { status: 404, title: 'No such sign-in' },
  plugin_not_found: { status: 404, title: 'No such plugin' },
  session_not_found: { status: 404, title: 'No such session' },
  tool_not_found: { status: 404, title: 'No such tool', rpc: -32602 },
  prompt_not_found: { status: 404, title: 'No such prompt', rpc: -32602 },
  resource_not_found: { status: 404, title: 'No such resource', rpc: -32002 },
  record_not_found: { status: 404, title: 'No such record' },
  dashboard_not_found: { status: 404, title: 'No such dashboard' },
  rule_not_found: { status: 404, title: 'No such alert rule' },
  plan_changed: { status: 409, title: 'Not what was planned' },
  import_not_found: { status: 404, title: 'No such import' },
  endpoint_not_found: { status: 404, title: 'No such assistant endpoint' },
  assistant_disabled: { status: 404, title: 'The assistant bridge is off' },
  channel_not_found: { status: 404, title: 'No such notification channel' },
  silence_not_found: { status: 404, title: 'No such silence' },
  alert_not_found: { status: 404, title: 'No such alert' },
  delivery_not_found: { status: 404, title: 'No such delivery' },
  // 405 … 426
  method_not_allowed: { status: 405, title: 'The route has no such method' },
  not_acceptable: { status: 406, title: 'None of the accepted types can be served' },
  request_timeout: { status: 408, title: 'The body came too slowly', retry: true },
  server_name_taken: { status: 409, title: 'Server name already used' },
  group_name_taken: { status: 409, title: 'Group name already used' },
  account_disabled: { status: 409, title: 'The account is disabled' },
  username_taken: { status: 409, title: 'User name already used' },
  name_taken: { status: 409, title: 'Name already used' },
  server_ambiguous: { status: 409, title: 'Several servers have this name' },
  group_ambiguous: { status: 409, title: 'Several groups have this name' },
  group_schema_differs: { status: 409, title: 'The servers of a selector have different tools' },
  selector_argument_taken: { status: 409, title: 'A tool has the selector’s argument itself' },
  group_in_use: { status: 409, title: 'The group is in use' },
  last_admin: { status: 409, title: 'The last administrator' },
  user_owns_resources: { status: 409, title: 'The user owns servers or groups' },
  quota_servers: { status: 409, title: 'Too many servers' },
  quota_stored_bytes: { status: 409, title: 'Too much stored' },
  quota_groups: { status: 409, title: 'Too many groups' },
  quota_shares: { status: 409, title: 'Too many shares, teams or members' },
  quota_members: { status: 409, title: 'Too many members' },
  quota_catalog_bytes: { status: 409, title: 'Too many bytes of lists' },
  key_expired: { status: 409, title: 'The access key has ended' },
  quota_keys: { status: 409, title: 'Too many access keys' },
  quota_records: { status: 409, title: 'Too many records' },
  quota_dashboards: { status: 409, title: 'Too many dashboards' },
  quota_rules: { status: 409, title: 'Too many alert rules' },
  quota_endpoints: { status: 409, title: 'Too many assistant endpoints' },
  quota_channels: { status: 409, title: 'Too many notification channels' },
  quota_custom_metrics: { status: 409, title: 'Too many metrics of your own' },
  quota_silences: { status: 409, title: 'Too many silences' },
  settings_read_only: { status: 409, title: 'The settings file cannot be written' },
  setting_locked: { status: 409, title: 'The setting is held by the environment or the settings file' },
  approval_required: { status: 409, title: 'The tool changed and was not approved yet', rpc: -32603 },
  review_required: { status: 409, title: 'The configuration must be confirmed first' },
  stream_exists: { status: 409, title: 'The session has this stream already' },
  version_conflict: { status: 412, title: 'Changed by somebody else meanwhile' },
  body_too_large: { status: 413, title: 'The body is too large' },
  openapi_too_large: { status: 413, title: 'The OpenAPI document is too large' },
  content_type: { status: 415, title: 'The content type is not accepted' },
  encoding_not_supported: { status: 415, title: 'Compressed request bodies are not accepted' },
  tool_failed: { status: 422, title: 'The tool failed' },
  upgrade_required: { status: 426, title: 'This route is a WebSocket' },
  quota_threads: { status: 409, title: 'Too many servers with a thread of their own' },
  // 429, 431
  rate_limited: { status: 429, title: 'Too many requests', retry: true },
  login_throttled: { status: 429, title: 'Too many failed sign-ins', retry: true },
  quota_sessions: { status: 429, title: 'Too many sessions', retry: true },
  quota_calls: { status: 429, title: 'Too many calls in flight', retry: true },
  quota_streams: { status: 429, title: 'Too many streams', retry: true },
  quota_bytes: { status: 429, title: 'Too many bytes in flight', retry: true },
  headers_too_large: { status: 431, title: 'Too many headers' },
  // 500 and up
  internal: { status: 500, title: 'Internal error' },
  storage_full: { status: 507, title: 'The disk is full' },
  connection_lost: { status: 502, title: 'The connection to the server was lost', retry: true },
  upstream_protocol: { status: 502, title: 'The server broke the protocol' },
  result_too_large: { status: 502, title: 'The server’s answer is too large' },
  upstream_http_error: { status: 502, title: 'The server answered with an HTTP error' },
  upstream_dns_error: { status: 502, title: 'The server’s name cannot be resolved', retry: true },
  upstream_tls_error: { status: 502, title: 'No secure connection to the server' },
  proxy_failed: { status: 502, title: 'The proxy does not connect to the server', retry: true },
  delivery_failed: { status: 502, title: 'The message was not taken', retry: true },
  redirect_blocked: { status: 502, title: 'A redirect that is not followed' },
  server_offline: { status: 503, title: 'The server is offline', retry: true },
  starting: { status: 503, title: 'The hub is starting', retry: true },
  draining: { status: 503, title: 'The hub is stopping', retry: true },
  overloaded: { status: 503, title: 'The hub is overloaded', retry: true },
  storage_busy: { status: 503, title: 'The database is busy', retry: true },
  storage_unavailable: { status: 503, title: 'The database is not available', retry: true },
  log_search_unavailable: { status: 503, title: 'No plugin stores log records' },
  upstream_timeout: { status: 504, title: 'The server took too long', retry: true },
  upstream_init_timeout: { status: 504, title: 'The server took too long to start', retry: true },
  // reasons of a server’s, delivery’s, sink’s or plugin’s state; never a response's own status
  stopped: { status: 503, title: 'Stopped by hand' },
  owner_disabled: { status: 503, title: 'The account of its owner is disabled' },
  idle: { status: 503, title: 'Asleep until the next call' },
  config_invalid: { status: 503, title: 'The configuration cannot be read' },
  era_not_spoken: { status: 503, title: 'The server does not speak the wanted era' },
  program_unavailable: { status: 503, title: 'The plugin that stores the program does not run' },
  transport_unavailable: { status: 503, title: 'No plugin offers this transport' },
  channel_off: { status: 503, title: 'The channel is off' },
  channel_type_unavailable: { status: 503, title: 'No plugin offers channels of this type' },
  log_unwritable: { status: 503, title: 'The log cannot be written' },
  plugin_failed: { status: 503, title: 'The plugin failed' },
  command_not_found: { status: 503, title: 'The command does not exist' },
  command_not_executable: { status: 503, title: 'The command exists and cannot be executed' },
  cwd_not_found: { status: 503, title: 'The working directory does not exist' },
  spawn_failed: { status: 503, title: 'The process could not be started' },
  sandbox_lost: { status: 503, title: 'The sandbox is lost' },
  upstream_flood: { status: 503, title: 'The server sends more than can be read' },
  crash_loop: { status: 503, title: 'The process ends again and again' },
  authorization_required: { status: 503, title: 'The server wants a credential' },
  quarantined: { status: 503, title: 'Stopped after it took its worker down' },
  variable_unknown: { status: 503, title: 'A variable of the configuration is not defined' },
  loop_detected: { status: 508, title: 'The server leads back to this hub' },
  openapi_unsupported: { status: 503, title: 'Not an OpenAPI document that can be read' },
  openapi_external_ref: { status: 503, title: 'The OpenAPI document refers to another file' },
  openapi_bomb: { status: 503, title: 'The OpenAPI document grows beyond all limits' },
  // JSON-RPC only
  request_invalid: { status: 400, title: 'Not a JSON-RPC request', rpc: -32600 },
  session_required: { status: 400, title: 'The session id is missing', rpc: -32600 },
  envelope_invalid: { status: 400, title: 'The request does not say how it is to be read', rpc: -32602 },
  header_mismatch: { status: 400, title: 'A header is missing or unlike the body', rpc: -32020 },
  version_unsupported: { status: 400, title: 'The protocol version is not spoken here', rpc: -32022 },
  request_state_invalid: { status: 200, title: 'The state of an earlier round is not valid', rpc: -32602 },
  method_not_found: { status: 200, title: 'No such method', rpc: -32601 },
  params_invalid: { status: 200, title: 'The parameters are not valid', rpc: -32602 },
  uri_ambiguous: { status: 200, title: 'Several servers could have this resource', rpc: -32602 },
  selector_missing: { status: 400, title: 'The argument that chooses the server is missing', rpc: -32602 },
  selector_unknown: { status: 400, title: 'The argument chooses no server', rpc: -32602 },
  cursor_invalid: { status: 400, title: 'The cursor is not valid', rpc: -32602 },
  quota_parked: { status: 200, title: 'Too many calls wait for the client', retry: true, rpc: -32603 },
  client_capability_missing: { status: 200, title: 'The client lacks a capability', rpc: -32603 },
} as const satisfies Record<string, { status: number; title: string; retry?: true; rpc?: number }>

/** A key of `ERROR_CODES`, such as `server_not_found`. */
export type HubErrorCode = keyof typeof ERROR_CODES

/** The codes of plugins, with the type of their `data`. A plugin merges its own into it. */
// biome-ignore lint/suspicious/noEmptyInterface: plugins merge their codes into it
export interface ErrorCodes {}

/** The code of an error: one of the hub's, or of a plugin. */
export type ErrorCode = HubErrorCode | (keyof ErrorCodes & string)

/** The `data` of errors by code; codes that are not named have none. `sent: false`: the request never left the hub. */
type ErrorDataByCode = Record<'json_invalid' | 'json_duplicate_key', { line: number; column: number }> &
  Record<'server_ambiguous' | 'group_ambiguous', { candidates: readonly string[] }> &
  Record<'resource_not_found' | 'uri_ambiguous', { uri: string }> &
  Record<'not_owner' | 'owner_rights_needed', { role: string }> &
  Record<'selector_missing' | 'selector_unknown' | 'server_offline', { argument: string; values: readonly string[] }> &
  Record<'group_schema_differs' | 'selector_argument_taken', { differences: readonly JsonObject[] }> &
  Record<'redirect_blocked' | 'upstream_http_error', { status: number }> &
  Record<'version_unsupported' | 'request_invalid', { supported: readonly string[]; requested: string }> &
  Record<'connection_lost' | 'url_address_blocked', { sent: false }> & {
    /** The status of the server, or the page at which the caller signs in. */
    authorization_required: { status: number } | { connectUrl: string }
    client_capability_missing: { requiredCapabilities: JsonObject }
    /** `permanent`: the receiver will not take it later either. */
    delivery_failed: { permanent?: boolean; retryAfterMs?: number }
    envelope_invalid: { missing: readonly string[] }
    method_not_allowed: { allow: readonly string[] }
    result_too_large: { maxBytes: number }
    /** The server's own error, or the versions that it speaks. */
    upstream_protocol: { rpcCode: JsonValue | undefined; rpcData?: JsonValue } | { supported: readonly JsonValue[] }
    /** The hash of a tool's definition, or the record as it is now and when that came about. */
    version_conflict:
      | { hash: string }
      | { revision: number; changedAt: string; kind: string; record: string; changedBy?: string }
  }

/** The `data` of one code; of a code that is known only at run time any members. */
export type ErrorData<C extends ErrorCode> = ErrorCode extends C
  ? Record<string, unknown>
  : C extends keyof ErrorDataByCode
    ? ErrorDataByCode[C]
    : C extends keyof ErrorCodes
      ? ErrorCodes[C]
      : never

/** Status, title and JSON-RPC code of one of the hub's codes; undefined for a code that is none. */
export function hubErrorKind(code: string): { status: number; title: string; rpc?: number } | undefined {
  return Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as HubErrorCode] : undefined
}

/** Codes of single fields, in `errors[].code` of a `validation_failed` body, with their meaning. */
export const FIELD_CODES = {
  required: 'is missing',
  type: 'has another JSON type than wanted',
  enum: 'is none of the permitted values',
  range: 'is too small or too large',
  length: 'is too short or too long',
  format: 'has another form than wanted',
  unknown_field: 'is no field of this body',
  key_forbidden: 'is a key that is never accepted',
  duplicate: 'is named twice',
  ambiguous: 'is given in two places with different values',
  name_invalid: 'has characters that a name cannot have',
  name_reserved: 'is a name that the hub keeps for itself',
  import_invalid: 'cannot be read as a server',
  transport_missing: 'there is nothing to connect to',
  transport_ambiguous: 'belongs to another transport than the rest',
  field_not_for_transport: 'is no field of this transport',
  command_invalid: 'is no command that could be started',
  args_too_large: 'holds more bytes than a program takes',
  env_key_invalid: 'is no name of a variable',
  env_value_invalid: 'holds a NUL character',
  url_invalid: 'is no URL',
  url_scheme: 'is not http or https',
  url_credentials: 'holds a user name or password',
  loop_detected: 'is an address of this hub',
  header_name: 'is no header name',
  header_value: 'holds characters that a header cannot have',
  header_reserved: 'is a header that the hub sets itself',
  headers_too_large: 'are too many or too long',
  variable_unknown: 'names a variable that is not defined',
  variable_cycle: 'is a variable that refers to itself',
  secret_mask: 'is a masked value, and none is stored here',
  secret_required: 'must be entered again, since the target changed; its owner may sign in again instead',
  openapi_unsupported: 'is no OpenAPI document of version 2.0, 3.0 or 3.1',
  openapi_external_ref: 'is an OpenAPI document that refers to another file',
  openapi_bomb: 'is an OpenAPI document that is nested too deeply or holds too many values',
  openapi_too_large: 'is an OpenAPI document with too many bytes or operations',
  member_not_found: 'is no server, or group, that you may use',
  email_invalid: 'is no address of one mailbox',
  key_invalid: 'is no usable key',
  password_weak: 'is easy to guess',
  timestamp: 'is no ISO 8601 time',
  duration: 'is no duration',
  size: 'is no size',
  range_order: 'ends before it begins',
  cursor_invalid: 'is no cursor of this list',
  sort_field: 'is no field to sort by',
  condition_unknown: 'names a field or operator that cannot be searched',
  query_too_complex: 'has too many conditions, too deep or too long ones',
  condition_invalid: 'is no condition that can be read; the detail names the column',
  read_only: 'is shown here and changed elsewhere; it may be sent back as it was read',
  metric_unavailable: 'names a metric or a window that this hub does not measure',
} as const

/** Codes of fields of plugins. A plugin merges its own into it, each with its meaning. */
// biome-ignore lint/suspicious/noEmptyInterface: plugins merge their codes into it
export interface FieldCodes {}

/** A code of a field: one of the hub's, or of a plugin. */
export type FieldCode = keyof typeof FIELD_CODES | (keyof FieldCodes & string)
