import { MEMBER_COUNT } from '../domain/group-fields.ts'
import { STRING_BYTES } from '../domain/json/fields.ts'
import { JSON_DEPTH, JSON_MEMBERS, JSON_PATH_CHARACTERS } from '../domain/json/json-guard.ts'
import { NAME_CHARACTERS } from '../domain/names.ts'
import { RESULT_BYTES } from '../domain/result-bytes.ts'
import { HEADER_BYTES, HEADER_COUNT } from '../domain/server/address.ts'
import { SECRET_COUNT } from '../domain/server/server-table.ts'
import { PROCESS_BYTES } from '../domain/server/transport.ts'
import { VARIABLE_COUNT } from '../domain/server/variables.ts'
import { OPENAPI_LIMITS } from '../transport-kit/openapi-document.ts'
import { MOST_ENTRIES } from './import-text.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Every limit; `GET /api/limits` lists them. Each name has the unit: bytes, milliseconds or a count. */
export const LIMITS = {
  bodyBytes: 1 * MiB,
  /** Limit for creating, replacing, patching, testing and importing servers, whose body may have an inline OpenAPI document. */
  serverBodyBytes: 17 * MiB,
  /** For routes without credentials, such as sign-in. */
  publicBodyBytes: 16 * KiB,
  /** Bodies over 128 KiB that wait for the parser thread, by user, or by address without a credential. */
  waitingBodies: 16,
  mcpBodyBytes: 4 * MiB,
  jsonDepth: JSON_DEPTH,
  jsonMembers: JSON_MEMBERS,
  publicJsonMembers: 100,
  /** Per MCP message or batch. */
  mcpJsonMembers: 20_000,
  /** Length of the path of keys to a value in the hub's own objects. */
  jsonPathCharacters: JSON_PATH_CHARACTERS,
  nameCharacters: NAME_CHARACTERS,
  stringBytes: STRING_BYTES,
  /** Limit of `args`, and separately of `env`. */
  argsBytes: PROCESS_BYTES,
  /** Per request. */
  requestHeaderCount: 64,
  /** Limit of a request's headers; the runtime's own limit, above which it responds 431 without a body. */
  requestHeadBytes: 16 * KiB,
  /** Limit of `headers` in one server's configuration. */
  serverHeaderCount: HEADER_COUNT,
  serverHeaderBytes: HEADER_BYTES,
  variablesPerServer: VARIABLE_COUNT,
  secretsPerServer: SECRET_COUNT,
  /** Servers in one imported document. */
  importEntries: MOST_ENTRIES,
  passwordMinCharacters: 12,
  passwordMaxCharacters: 256,
  serversPerUser: 200,
  /**
   * A user's servers, their OpenAPI documents, groups, settings, keys, rules, channels, silences, dashboards, assistant
   * endpoints and records of imports together. Administrators are exempt.
   */
  storedBytesPerUser: 64 * MiB,
  /** The part of it that lists read: servers without their OpenAPI documents. */
  serverConfigBytesPerUser: 4 * MiB,
  /** Enabled commands of an ordinary user, and separately their running processes, dedicated ones included. */
  liveStdioPerUser: 32,
  /** Processes of one server with `session` `auto` for its owner's sessions; further sessions share the shared process. */
  ownProcessesPerUserAndServer: 32,
  /** Processes of one server for the sessions of a user who does not own it, with `session` `auto` or `per-session`. */
  foreignProcessesPerUserAndServer: 8,
  /** The part of these that may be started only to find out whether the server sends requests to its clients. */
  trialProcessesPerUserAndServer: 4,
  /** Processes of all servers of other owners that run for one user's sessions. */
  foreignProcessesPerUser: 32,
  groupsPerUser: 100,
  /** Users and teams with which one server or group is shared. */
  sharesPerThing: 200,
  teams: 100,
  teamMembers: 1_000,
  membersPerGroup: MEMBER_COUNT,
  /** Audit rows that one user may cause in an hour; more are only counted, and the count is stored as one row. */
  auditRowsPerHour: 2_000,
  /** Audit rows kept per user; the oldest are deleted. */
  auditRowsKept: 20_000,
  auditMs: 400 * 24 * 60 * 60_000,
  /** Limit of the details in one audit row; larger ones are replaced by their size. */
  auditDetailBytes: 4 * KiB,
  keysPerUser: 50,
  alertRulesPerUser: 100,
  alertChannelsPerUser: 20,
  alertSilencesPerUser: 50,
  dashboardsPerUser: 50,
  assistantEndpointsPerUser: 20,
  /** Subjects of one alert rule; further ones are not evaluated. */
  alertInstancesPerRule: 500,
  /** Subjects of all alert rules of a user who is not an administrator; further ones are not evaluated. */
  alertInstancesPerUser: 5_000,
  /** Finished alerts of each user that are kept; the oldest are deleted. */
  alertsKept: 10_000,
  alertMs: 90 * 24 * 60 * 60_000,
  /** Messages of one channel that wait; further ones are dropped. */
  alertDeliveriesWaiting: 1_000,
  /** Series of numbers that a user reports: names with their labels. Each plugin has as many. */
  customMetricSeriesPerUser: 200,
  customMetricLabels: 5,
  /** Numbers of one report, listed or free-form. */
  customMetricsPerReport: 100,
  /** Levels of objects in a free-form report. */
  customMetricDepth: 8,
  sessionsPerUser: 1_000,
  sessions: 10_000,
  /** Limit of `clientInfo` and `capabilities`, which are kept while the session is open. */
  sessionDataBytes: 16 * KiB,
  sessionIdleMs: 60 * 60_000,
  /** Time for which a session of the 2024-11-05 transport waits for its client after its stream broke. */
  sseReconnectMs: 60_000,
  callsPerUser: 256,
  /**
   * Bodies being read, arguments of calls in flight, unread responses, replay events and session data together. More is
   * rejected with `quota_bytes`.
   */
  bytesInFlightPerUser: 64 * MiB,
  /** The same for requests without a credential. */
  bytesInFlightPerAddress: 16 * MiB,
  /** The same for all users and addresses together; more is rejected with `overloaded`. */
  bytesInFlight: 512 * MiB,
  /** Under `/mcp`. */
  streamsPerUser: 100,
  /** Limit of open streams of `/api/stream`. */
  liveStreamsPerUser: 100,
  /** Keys of hosted platforms among a user's own settings. */
  hostedKeysPerUser: 64,
  /** Servers of other owners to which a user passes headers of its requests. */
  passthroughServersPerUser: 64,
  requestsPerSecondPerUser: 50,
  requestBurstPerUser: 100,
  /** Messages under `/mcp` that the hub itself rejects, such as calls of unknown names. */
  refusedMessagesPerSecondPerUser: 50,
  refusedMessageBurstPerUser: 200,
  requestsPerSecondPerAddress: 10,
  requestBurstPerAddress: 20,
  /** Rejected session tokens and access keys. */
  failedCredentialsPerSecondPerAddress: 10,
  failedCredentialBurstPerAddress: 100,
  /** Number of addresses whose failures are remembered; the least recently used is dropped. */
  failedCredentialAddresses: 10_000,
  /** Lifetime of a sign-in, all its refreshed tokens included. */
  signInMs: 30 * 24 * 60 * 60_000,
  /** Open sign-ins; one more ends the oldest. */
  signInsPerUser: 100,
  signInsPerSecondPerAddress: 1,
  signInBurstPerAddress: 5,
  passwordHashesAtOnce: 2,
  passwordHashesWaiting: 50,
  webSocketFrameBytes: 64 * KiB,
  webSocketFramesPerSecond: 100,
  pageItems: 1_000,
  catalogPages: 64,
  catalogItems: 5_000,
  catalogItemBytes: 256 * KiB,
  /** Per list of a server: tools, prompts, resources or templates. */
  catalogListBytes: 16 * MiB,
  /** All lists of all servers of one user in memory: texts plus 512 bytes per item. */
  catalogBytesPerUser: 64 * MiB,
  /** Lists of one server that are kept over a restart; larger ones are read again from the server. */
  catalogStoredBytes: 4 * MiB,
  /** Lists that are read again from one user's servers, per minute; 1 KiB per item is added. */
  catalogReadBytesPerMinute: 64 * MiB,
  /** Tools, prompts, resources and templates, each, of one address under `/mcp`. */
  scopeItems: 5_000,
  /** A server's `instructions`, `serverInfo` and `capabilities`, each. */
  serverTextBytes: 64 * KiB,
  /** Limit of one notification of a server; a larger one is dropped and counted in the log. */
  noticeBytes: 64 * KiB,
  /** Remembered definitions of one server; the oldest that it no longer lists are dropped first. */
  toolDefinitions: 20_000,
  /** Names of remembered tools that the server no longer lists. */
  toolDefinitionNameBytes: 1 * MiB,
  openapiBytes: OPENAPI_LIMITS.bytes,
  openapiYamlBytes: OPENAPI_LIMITS.yamlBytes,
  openapiOperations: OPENAPI_LIMITS.operations,
  openapiDepth: OPENAPI_LIMITS.depth,
  openapiNodes: OPENAPI_LIMITS.nodes,
  /** Former names of one group's tools, which work for ten more minutes after an edit. */
  oldNames: 10_000,
  /** Default for one message of a server and one response of an API, and the maximum that "maxResultBytes" may set. */
  resultBytes: RESULT_BYTES.usual,
  mostResultBytes: RESULT_BYTES.most,
  /** Limit of a message from an upstream; deeper nesting counts as malformed. */
  upstreamJsonDepth: 256,
  /** Limit of one notification of an upstream; a larger one counts as malformed. */
  upstreamNoticeBytes: 1 * MiB,
  /** Written to a program that it has not read; more is refused, and the program ended if it reads nothing. */
  upstreamWriteBacklogBytes: 8 * MiB,
  /** The same for all programs of one owner; of those that read nothing the one with the largest backlog is ended. */
  ownerWriteBacklogBytes: 16 * MiB,
  /** Long responses of one user's servers on their way from a worker to the main thread, which takes them one at a
   * time. */
  unsettledAnswerBytes: 4 * MiB,
  stderrLines: 200,
  /** Worker threads of servers with `isolate`; all connections to one server share its thread. */
  isolatedThreadsPerUser: 8,
  /** Connections of all sandboxed programs of one owner through the hub's proxy. */
  ownerTunnels: 256,
  startsAtOnce: 8,
  /** The part of it that starts for the sessions of one user, unless an administrator uses a server of its own. */
  sessionStartsAtOnce: 2,
  drainMs: 30_000,
  /** Longest pause in a request body; of a body under `/mcp` of at most 4 KiB, the time for the whole. */
  bodySilenceMs: 15_000,
  eventReplayEvents: 1_000,
  eventReplayBytes: 1 * MiB,
  eventReplayMs: 10 * 60_000,
  /** All sessions of one user together. The oldest events are dropped first. */
  eventReplayBytesPerUser: 24 * MiB,
  /** Limit of a result that a group's HTTP route answers in plain form; a longer one is answered only as an MCP result. */
  plainResultBytes: 512 * KiB,
  batchMessages: 100,
  /** Limit of the id of a JSON-RPC message and of a progress token. */
  rpcIdCharacters: 4_096,
  /** Limit of a cursor or a `requestState`; a server with a longer state is rejected with `upstream_protocol`. */
  sealedTokenCharacters: 1 * MiB,
  listenStreamsPerUser: 20,
  parkedCallsPerUser: 16,
  /** Unfinished or unexpired tasks at servers, created by a user's clients. */
  tasksPerUser: 32,
  /** After this time a task is dropped, whatever state its server reports. */
  taskMs: 24 * 60 * 60_000,
  /** A task for which its client has not asked for so long is no call in flight any more, as the client may be gone. */
  taskSilenceMs: 10 * 60_000,
  parkedCalls: 500,
  parkedMs: 10 * 60_000,
  /** Time for which a server's request to a session waits for a call or an open stream of its client. */
  askStreamWaitMs: 60_000,
  /** Time for a client's answer to a server's request outside a call. */
  askAnswerMs: 10 * 60_000,
  /** Leased upstream connections per server and client, for modern clients that support server requests. */
  leasesPerUser: 4,
} as const
