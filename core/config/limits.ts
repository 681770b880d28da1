import { OPENAPI_LIMITS } from '../contract/openapi-document.ts'
import { STRING_BYTES } from '../domain/fields.ts'
import { JSON_DEPTH, JSON_MEMBERS } from '../domain/json-guard.ts'
import { NAME_CHARACTERS } from '../domain/names.ts'
import { HEADER_BYTES, HEADER_COUNT } from '../domain/server-address.ts'
import { PROCESS_BYTES } from '../domain/server-transport.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Every limit in one place; `GET /api/limits` lists them. Bytes, milliseconds and counts as each name says. */
export const LIMITS = {
  bodyBytes: 1 * MiB,
  /** Create, replace, patch, test and import of servers: an inline OpenAPI document may be in it. */
  serverBodyBytes: 17 * MiB,
  mcpBodyBytes: 4 * MiB,
  jsonDepth: JSON_DEPTH,
  jsonMembers: JSON_MEMBERS,
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
  passwordMinCharacters: 12,
  passwordMaxCharacters: 256,
  serversPerUser: 200,
  /** Commands of an ordinary user that are switched on, and processes of them that run at once, each caller's own among them. */
  liveStdioPerUser: 32,
  groupsPerUser: 100,
  membersPerGroup: 500,
  keysPerUser: 50,
  sessionsPerUser: 1_000,
  sessions: 10_000,
  sessionIdleMs: 60 * 60_000,
  /** A session of the 2024-11-05 pair whose stream broke waits so long for its client. */
  sseReconnectMs: 60_000,
  callsPerUser: 256,
  /** Under `/mcp`. */
  streamsPerUser: 100,
  /** Of `/api/stream`. */
  liveStreamsPerUser: 100,
  /** Keys of hosted platforms among a user's own settings. */
  hostedKeysPerUser: 64,
  requestsPerSecondPerUser: 50,
  requestBurstPerUser: 100,
  requestsPerSecondPerAddress: 10,
  requestBurstPerAddress: 20,
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
  /** Of one server, whose definitions are remembered; what it dropped and had shown last is forgotten first. */
  toolDefinitions: 20_000,
  openapiBytes: OPENAPI_LIMITS.bytes,
  openapiYamlBytes: OPENAPI_LIMITS.yamlBytes,
  openapiOperations: OPENAPI_LIMITS.operations,
  openapiDepth: OPENAPI_LIMITS.depth,
  openapiNodes: OPENAPI_LIMITS.nodes,
  /** Names that one group's tools had until an edit, and that still lead to them for ten minutes. */
  oldNames: 10_000,
  upstreamLineBytes: 10 * MiB,
  /** Of a message from an upstream; what is nested deeper counts as malformed. */
  upstreamJsonDepth: 256,
  upstreamWriteBacklogBytes: 8 * MiB,
  stderrLines: 200,
  startsAtOnce: 8,
  drainMs: 30_000,
  eventReplayEvents: 1_000,
  eventReplayBytes: 1 * MiB,
  eventReplayMs: 10 * 60_000,
  batchMessages: 100,
  /** What is kept of results that were cut at their group's limit. */
  keptResultBytes: 64 * MiB,
  keptResultBytesPerUser: 24 * MiB,
  keptResultMs: 10 * 60_000,
  listenStreamsPerUser: 20,
  parkedCallsPerUser: 16,
  parkedCalls: 500,
  parkedMs: 10 * 60_000,
  /** Upstream connections that one server keeps for the modern clients of one user that can be asked. */
  leasesPerUser: 4,
} as const
