import { STRING_BYTES } from '../domain/json/fields.ts'
import { JSON_DEPTH, JSON_MEMBERS, JSON_PATH_CHARACTERS } from '../domain/json/json-guard.ts'
import { NAME_CHARACTERS } from '../domain/names.ts'
import { RESULT_BYTES } from '../domain/result-bytes.ts'
import { HEADER_BYTES, HEADER_COUNT } from '../domain/server/address.ts'
import { SECRET_COUNT } from '../domain/server/body.ts'
import { PROCESS_BYTES } from '../domain/server/transport.ts'
import { VARIABLE_COUNT } from '../domain/server/variables.ts'
import { OPENAPI_LIMITS } from '../transport-kit/openapi-document.ts'
import { MOST_ENTRIES } from './import-document.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Every limit in one place; `GET /api/limits` lists them. Bytes, milliseconds and counts as each name says. */
export const LIMITS = {
  bodyBytes: 1 * MiB,
  /** Create, replace, patch, test and import of servers: an inline OpenAPI document may be in it. */
  serverBodyBytes: 17 * MiB,
  /** Of routes that need no credential, such as sign-in. */
  publicBodyBytes: 16 * KiB,
  /** Bodies over 128 KiB of one user, or of one address without a credential, that wait for the thread that parses them. */
  waitingBodies: 16,
  mcpBodyBytes: 4 * MiB,
  jsonDepth: JSON_DEPTH,
  jsonMembers: JSON_MEMBERS,
  publicJsonMembers: 100,
  /** Of an MCP message, or of an array of them. */
  mcpJsonMembers: 20_000,
  /** Of the keys that lead to a value in the hub's own objects. */
  jsonPathCharacters: JSON_PATH_CHARACTERS,
  nameCharacters: NAME_CHARACTERS,
  stringBytes: STRING_BYTES,
  /** Of `args`, and of `env`. */
  argsBytes: PROCESS_BYTES,
  /** Of one request. */
  requestHeaderCount: 64,
  /** Of one request's head; the runtime's own limit, above which it answers 431 without a body. */
  requestHeadBytes: 16 * KiB,
  /** Of `headers` in one server's configuration. */
  serverHeaderCount: HEADER_COUNT,
  serverHeaderBytes: HEADER_BYTES,
  variablesPerServer: VARIABLE_COUNT,
  secretsPerServer: SECRET_COUNT,
  /** Servers in one document that is imported. */
  importEntries: MOST_ENTRIES,
  passwordMinCharacters: 12,
  passwordMaxCharacters: 256,
  serversPerUser: 200,
  /** Of a user's servers, their OpenAPI documents, groups, settings and keys. Administrators have no such limit. */
  storedBytesPerUser: 64 * MiB,
  /** Of the part of it that lists read: servers without their OpenAPI documents. */
  serverConfigBytesPerUser: 4 * MiB,
  /** Commands of an ordinary user that are switched on, and processes of them that run at once, each caller's own among them. */
  liveStdioPerUser: 32,
  /** Of one server whose `session` is `auto`, for the sessions of one user; further sessions share the others' process. */
  ownProcessesPerUserAndServer: 32,
  groupsPerUser: 100,
  membersPerGroup: 500,
  /** Audit rows that one user may cause in an hour; more are counted, and the count is a row. */
  auditRowsPerHour: 2_000,
  /** Audit rows that are kept of one user: the newest. */
  auditRowsKept: 20_000,
  auditMs: 400 * 24 * 60 * 60_000,
  /** Of the details in one audit row; longer ones give way to their size. */
  auditDetailBytes: 4 * KiB,
  keysPerUser: 50,
  sessionsPerUser: 1_000,
  sessions: 10_000,
  /** Of `clientInfo` and `capabilities`, which are kept for as long as the session is open. */
  sessionDataBytes: 16 * KiB,
  sessionIdleMs: 60 * 60_000,
  /** A session of the 2024-11-05 pair whose stream broke waits so long for its client. */
  sseReconnectMs: 60_000,
  callsPerUser: 256,
  /**
   * Bodies being read, arguments of calls in flight, answers that were not taken, replay events, what sessions keep. More is
   * refused with `quota_bytes`.
   */
  bytesInFlightPerUser: 64 * MiB,
  /** The same of requests without a credential. */
  bytesInFlightPerAddress: 16 * MiB,
  /** The same of all users and addresses; more is refused with `overloaded`. */
  bytesInFlight: 512 * MiB,
  /** Under `/mcp`. */
  streamsPerUser: 100,
  /** Of `/api/stream`. */
  liveStreamsPerUser: 100,
  /** Keys of hosted platforms among a user's own settings. */
  hostedKeysPerUser: 64,
  /** Servers of other owners to which a user lets headers of its requests pass. */
  passthroughServersPerUser: 64,
  requestsPerSecondPerUser: 50,
  requestBurstPerUser: 100,
  /** Messages under `/mcp` that the hub itself refuses, such as calls of unknown names. */
  refusedMessagesPerSecondPerUser: 50,
  refusedMessageBurstPerUser: 200,
  requestsPerSecondPerAddress: 10,
  requestBurstPerAddress: 20,
  /** Session tokens and access keys that were refused. */
  failedCredentialsPerSecondPerAddress: 10,
  failedCredentialBurstPerAddress: 100,
  /** Addresses whose failures are remembered; the one that was quiet longest is forgotten first. */
  failedCredentialAddresses: 10_000,
  /** A sign-in with all tokens that were refreshed from its first one. */
  signInMs: 30 * 24 * 60 * 60_000,
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
  /** Of one list of a server: its tools, prompts, resources or templates. */
  catalogListBytes: 16 * MiB,
  /** Of all lists of all servers of one user, in memory: texts and 512 bytes an item. */
  catalogBytesPerUser: 64 * MiB,
  /** Of the lists of one server that are kept over a restart; larger ones are read again from it. */
  catalogStoredBytes: 4 * MiB,
  /** Of lists that one user's servers are asked for again, a minute; 1 KiB an item is added. */
  catalogReadBytesPerMinute: 64 * MiB,
  /** Tools, prompts, resources and templates, of each so many, that one address under `/mcp` offers. */
  scopeItems: 5_000,
  /** What a server says of itself: `instructions`, `serverInfo` and `capabilities`, of each so much. */
  serverTextBytes: 64 * KiB,
  /** Of one notification of a server; a larger one is dropped, and counted in the log. */
  noticeBytes: 64 * KiB,
  /** Of one server, whose definitions are remembered; what it dropped and had shown last is forgotten first. */
  toolDefinitions: 20_000,
  openapiBytes: OPENAPI_LIMITS.bytes,
  openapiYamlBytes: OPENAPI_LIMITS.yamlBytes,
  openapiOperations: OPENAPI_LIMITS.operations,
  openapiDepth: OPENAPI_LIMITS.depth,
  openapiNodes: OPENAPI_LIMITS.nodes,
  /** Names that one group's tools had until an edit, and that still lead to them for ten minutes. */
  oldNames: 10_000,
  /** Of one message of a server and of one answer of an API, where its "maxResultBytes" says nothing else, and the most it may say. */
  resultBytes: RESULT_BYTES.usual,
  mostResultBytes: RESULT_BYTES.most,
  /** Of a message from an upstream; what is nested deeper counts as malformed. */
  upstreamJsonDepth: 256,
  /** Of one notification of an upstream; a larger one counts as malformed. */
  upstreamNoticeBytes: 1 * MiB,
  upstreamWriteBacklogBytes: 8 * MiB,
  /** Long answers of one user's servers between a connection thread and the main thread, which takes them one after the other. */
  unsettledAnswerBytes: 4 * MiB,
  stderrLines: 200,
  /** Worker threads of servers with `isolate`; all connections to one server share its thread. */
  isolatedThreadsPerUser: 8,
  startsAtOnce: 8,
  drainMs: 30_000,
  eventReplayEvents: 1_000,
  eventReplayBytes: 1 * MiB,
  eventReplayMs: 10 * 60_000,
  /** Of all sessions of one user. The oldest events are dropped first. */
  eventReplayBytesPerUser: 24 * MiB,
  batchMessages: 100,
  /** What is kept of results that were cut at their group's limit. */
  keptResultBytes: 64 * MiB,
  keptResultBytesPerUser: 24 * MiB,
  keptResultMs: 10 * 60_000,
  listenStreamsPerUser: 20,
  parkedCallsPerUser: 16,
  /** Tasks that clients of a user have made at servers and that are not forgotten yet. */
  tasksPerUser: 32,
  /** A task is forgotten then, whatever its server says. */
  taskMs: 24 * 60 * 60_000,
  parkedCalls: 500,
  parkedMs: 10 * 60_000,
  /** A server's question to a session waits so long for a call or an open stream of its client. */
  askStreamWaitMs: 60_000,
  /** A client has so long to answer a question that came with no call. */
  askAnswerMs: 10 * 60_000,
  /** Upstream connections that one server keeps for the modern clients of one user that can be asked. */
  leasesPerUser: 4,
} as const
