import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { createAuth } from '../auth/create.ts'
import { makeFirstAdministrator } from '../auth/first-administrator.ts'
import { dataDirFault, requireDatabase } from '../config/data-dir.ts'
import { type DataLock, lockDataDir } from '../config/data-lock.ts'
import { DescriptorReserve } from '../config/descriptor-reserve.ts'
import { LIMITS } from '../config/limits.ts'
import { createConnections } from '../connections/create.ts'
import type { Connections } from '../connections/options.ts'
import { GarbageWatch } from '../connections/process/garbage-watch.ts'
import { openSandbox } from '../connections/sandbox/sandbox.ts'
import { BytesInFlight } from '../domain/byte-account.ts'
import { OpenTransports } from '../domain/server/transports.ts'
import { EventBus } from '../events/bus.ts'
import { BodyParser } from '../http/body/body-parser.ts'
import { createHttp, type Http } from '../http/create.ts'
import { resourceRoutes } from '../http/routes/all.ts'
import type { McpEndpoint } from '../mcp/api.ts'
import { createMcp } from '../mcp/create.ts'
import { StoredSessions } from '../mcp/legacy/session-records.ts'
import { Plans } from '../plans/plans.ts'
import { PluginTracer } from '../plugin-host/plugin-tracer.ts'
import { everyContribution, firstContribution, pluginsView } from '../plugin-host/views.ts'
import { createRegistry, type OpenRegistry } from '../registry/create.ts'
import { OpenKinds } from '../registry/owned/open-kinds.ts'
import { countStored } from '../registry/sealed-values.ts'
import { removeUnownedDocuments } from '../registry/servers/document-parts.ts'
import { followSettingsFile } from '../registry/settings-file/follow-file.ts'
import { HubMarks } from '../secrets/hub-marks.ts'
import { type HubKeys, readHubKeys } from '../secrets/key-file.ts'
import { openSealer } from '../secrets/own-secrets.ts'
import { keyTexts } from '../secrets/parts.ts'
import { SQLITE_FILE } from '../store/open.ts'
import { callStats } from '../telemetry/calls/call-stats.ts'
import type { EndedCall } from '../telemetry/calls/ended-call.ts'
import { HubLog } from '../telemetry/log.ts'
import { UptimeFile } from '../telemetry/uptime-file.ts'
import type { Hub, HubOptions } from './api.ts'
import { openAssistant } from './assistant.ts'
import { ENTRY_FIELDS } from './bundled-fields.ts'
import { HUB_SETTINGS, LIVE_SETTINGS } from './bundled-settings.ts'
import { healthDeps } from './health.ts'
import { StoreFeeds } from './log-store.ts'
import { createMeters } from './meters.ts'
import { loggingView, metricsDeps } from './metrics.ts'
import { openMonitoring } from './monitoring.ts'
import { openMoving } from './moving.ts'
import { openPlugins } from './plugins.ts'
import { RECORD_KINDS } from './record-kinds.ts'
import { forOwner, logOptions } from './records.ts'
import { writeObstacle } from './refusals.ts'
import { followSinks } from './sinks.ts'
import { closeRegistry, openHubStore, takenOver } from './storage.ts'

/** The build of `ui`, see `ui/build.ts`. */
const CONSOLE_FOLDER = join(import.meta.dirname, '../../ui/dist')
/** Number of bytes of large messages after which the main thread collects garbage. */
const GARBAGE_PERIOD_BYTES = 32 * 1024 * 1024

/**
 * Builds every part in order and listens. Servers are started in the background: none of them can delay the hub. Throws
 * StartError for problems that a person must solve; the parts built until then are disposed of.
 */
export async function startHub(options: HubOptions): Promise<Hub> {
  // Disposed of in reverse order; a step runs even if another one failed.
  const undo = new AsyncDisposableStack()
  try {
    return await build(options, undo)
  } catch (error) {
    await undo.disposeAsync()
    throw dataDirFault(error, options.loaded.config.dataDir)
  }
}

async function build(options: HubOptions, undo: AsyncDisposableStack): Promise<Hub> {
  const { loaded } = options
  const reserve = new DescriptorReserve()
  undo.defer(() => reserve.dispose())
  const lock: DataLock = await lockDataDir(loaded.config.dataDir)
  undo.defer(() => lock.release())
  undo.defer(() => loaded.settings.dispose())
  const garbage = new GarbageWatch({ periodBytes: GARBAGE_PERIOD_BYTES })
  const { bytesInFlightPerUser: perUser, bytesInFlightPerAddress: perAddress, bytesInFlight: total } = LIMITS
  const bytes = new BytesInFlight({ perUser, perAddress, total }, passed => garbage.passed(passed))
  // Probed while the store is opened: neither waits for the other.
  const probing = openSandbox(loaded.config.dataDir, bytes, options.aroundProbe)
  undo.defer(async () => void (await probing))

  const startedAtMs = performance.now()
  const { redactor, servers } = options
  const bus = new EventBus((error, name) => hubLog.with().error('An event handler failed', { event: name, error }))
  // The file is not rotated until all settings are known: other ones could remove what these keep.
  const { rotation: _, ...opened } = logOptions(loaded.config)
  const hubLog: HubLog = await HubLog.open({ ...opened, redactor, servers, bus })
  undo.defer(() => hubLog.end())
  const log = hubLog.with({ component: 'hub' })
  for (const warning of loaded.warnings) log.warn(warning)

  const meters = createMeters(hubLog, bus, loaded.config.dataDir)
  undo.defer(() => meters.dispose())
  // Ends after all parts that are opened from here on, because it stores their last records.
  const untilLast = undo.use(new AsyncDisposableStack())

  const { dataDir, databaseUrl } = loaded.config
  if (databaseUrl === undefined) await requireDatabase(dataDir, SQLITE_FILE)
  const keys: HubKeys = await readHubKeys(loaded.config.dataDir)
  const { store, lock: databaseLock } = await openHubStore(loaded.config, undo)
  await removeUnownedDocuments(store)
  const sealer = await openSealer(loaded.config, await countStored(store.db), redactor, log)
  redactor.add(...keyTexts(keys.jwtSecret))
  const sandbox = await probing
  undo.defer(() => sandbox.dispose())
  const transports = new OpenTransports()
  let ownPorts: readonly string[] = []
  let { stdioPolicy } = loaded.config
  const bodyParser = new BodyParser({ fields: ENTRY_FIELDS })
  const importDocument = bodyParser.importDocument.bind(bodyParser)
  undo.defer(() => bodyParser.dispose())
  const kinds = new OpenKinds(RECORD_KINDS)
  let mcpRoom: McpEndpoint | undefined
  const room: OpenRegistry = createRegistry({
    kinds,
    store,
    bus,
    sealer,
    stdio: () => ({ policy: stdioPolicy, level: sandbox.level }),
    outboundAllow: loaded.config.outboundAllow,
    ownPorts: () => ownPorts,
    leavesWorkFolder: (ownerId, serverId, path) => sandbox.folders.leaves({ ownerId, serverId }, path),
    fileWriter: loaded.settings,
    checkDocument: (document, sender) => bodyParser.checkDocument(document, sender),
    transports,
    checkGroup: (group, servers) => mcpRoom?.checkGroup(group, servers),
  })
  undo.defer(() => closeRegistry(room, log))
  const { registry } = room
  await room.load()
  const { config, sources, written, warnings } = loaded.withStored(await registry.settings.allSystem())
  for (const warning of warnings) log.warn(warning)
  stdioPolicy = config.stdioPolicy
  hubLog.configure(logOptions(config))
  const storeFeeds = new StoreFeeds({ hubLog, bus, durations: meters.durations })

  const auth = createAuth({
    secret: config.jwtSecret ?? keys.jwtSecret,
    instanceId: keys.instanceId,
    registry,
    db: store.db,
    bus,
  })
  undo.defer(() => auth.dispose())
  await makeFirstAdministrator(config, registry, auth)
  const marks = new HubMarks(keys.jwtSecret)
  const { plugins, services } = await openPlugins({
    ...{ loaded, config, store, registry, auth, sealer, kinds, transports, bus, hubLog, marks, undo },
    ...{ attached: room.attached, custom: meters.custom },
    calls: { queues: meters.callQueues, stats: query => callStats(meters.ring, query) },
  })
  auth.verifiers.source = plugins.contributions('tokenVerifier')
  auth.secondFactors.source = plugins.contributions('secondFactor')
  // It stores the last records of all parts.
  untilLast.defer(() => plugins.stop())
  const logStore = storeFeeds.follow(plugins.contributions('logStore'))
  followSinks({ sinks: plugins.contributions('logSink'), bus, hubLog, undo })
  // After the plugins, since the valid content of an entry depends on its transport.
  await followSettingsFile({ ...room, settings: loaded.settings, transports, bus, log })

  const connections: Connections = createConnections({
    programs: transports.programs,
    garbage,
    freeDescriptors: () => reserve.free,
    registry,
    store,
    bus,
    config,
    sandbox,
    transports: () => plugins.contributions('transport'),
    headerProviders: () => plugins.contributions('headerProvider'),
    credentialSources: () => plugins.contributions('credentialSource'),
    filters: () => plugins.contributions('contentFilter'),
    log: hubLog.with({ component: 'connections' }),
    redactors: servers,
    instanceId: marks.make(),
    isOwnMark: mark => marks.isOwn(mark),
    baseEnv: options.baseEnv,
    workerEnded: () => meters.metrics.workerEnded(),
  })
  undo.defer(() => connections.dispose())
  services.connections = connections

  let draining = false
  // The one place where calls are counted and recorded.
  const recordCall = (call: EndedCall): void => {
    const record = hubLog.readable(call)
    hubLog.call(record)
    meters.call(record)
    if (bus.wants('tool.called')) bus.emit('tool.called', record.ownerId, forOwner(record))
  }
  const tracer = new PluginTracer(() => firstContribution(plugins.contributions('callTracer')), log)
  const mcp: McpEndpoint = createMcp({
    registry,
    upstreams: connections,
    bus,
    auth: auth.authenticator,
    credentials: auth.liveCredentials,
    sealer,
    sessionRecords: new StoredSessions(store.db, log),
    bytes,
    resolver: () => firstContribution(plugins.contributions('groupResolver')),
    middlewares: () => everyContribution(plugins.contributions('mcpMiddleware')),
    watch: plugins.middlewares,
    filters: () => plugins.contributions('contentFilter'),
    toolSets: () => plugins.contributions('tools'),
    callGates: () => plugins.contributions('callGate'),
    challenge: () => firstContribution(plugins.contributions('challenge')),
    recordCall,
    requestEnded: (method, era, word) => meters.metrics.mcpRequest(method, era, word),
    tracer,
    marks,
    log: hubLog.with({ component: 'mcp' }),
    version: manifest.version,
    draining: () => draining,
  })
  mcpRoom = mcp
  undo.defer(() => mcp.dispose())
  services.endpoint = mcp

  const parts = { registry, store, bus, sealer, log, hubLog, plugins, config, undo }
  const assistant = openAssistant({ ...parts, mcp, auth, version: manifest.version, instanceId: marks.make() })
  const { alerts, dashboards, fileRecords } = await openMonitoring({
    ...{ ...parts, kinds, assistant, upstreams: connections, settings: loaded.settings, meters },
    instanceId: marks.make(),
  })
  services.alerts = alerts
  const plans = new Plans({ store, within: room.within })
  const templates = () => firstContribution(plugins.contributions('serverTemplates'))
  services.templates = templates
  const importSources = () => plugins.contributions('importSource')
  const moving = openMoving({
    ...{ registry, store, transports, kinds, attached: room.attached, alerts, assistant, config: loaded.config },
    ...{ settings: loaded.settings, passwords: auth.passwords },
    ...{ plans, readDocument: importDocument, sources: importSources, templates },
    parseText: bodyParser.parseText.bind(bodyParser),
    switchOff: bodyParser.switchOff.bind(bodyParser),
  })
  services.plans = { plans, records: moving.records }

  const setupToken = (await registry.users.needsSetup()) ? await options.setupToken() : undefined
  if (setupToken !== undefined) redactor.add(setupToken)
  const http: Http = createHttp({
    config,
    bodyParser,
    marks,
    registry,
    transports,
    auth,
    bus,
    log: hubLog.with({ component: 'http' }),
    bytes,
    mcp,
    alerts,
    dashboards,
    assistant,
    limitUses: () => plugins.contributions('limitUse'),
    customMetrics: meters.custom,
    upstreams: connections,
    writeObstacle: () => writeObstacle({ draining, lock, databaseLock }),
    pluginRoutes: plugins.routes,
    countRequest: meters.request,
    reserve,
    setupToken,
    version: manifest.version,
    consoleFolder: CONSOLE_FOLDER,
    routes: resourceRoutes({
      ...{ registry, alerts, dashboards, assistant, templates, proofs: auth.proofs },
      teamSources: () => plugins.contributions('teamSource'),
      closedFields: record => room.attached.closedFields(transports, record),
      ...{ ...moving, importSources, kinds, attached: room.attached, logStore },
      usualHealthCheck: () => loaded.settings.state.healthCheck,
      fileProblems: () => fileRecords.problems(),
      bus,
      upstreams: connections,
      ...{ mcp, credentials: auth.liveCredentials, bytes },
      plugins: pluginsView(plugins),
      clientConfigs: () => plugins.contributions('clientConfig'),
      activeConnections: () => http.active(),
      openStreams: userId => http.liveStreams(userId) + mcp.usage(userId).streamsPerUser,
      logging: loggingView(hubLog),
      ...metricsDeps({
        ...{ meters, config, registry, upstreams: connections, mcp, alerts, hubLog, startedAtMs, tracer },
        version: manifest.version,
        sources: plugins.contributions('metric'),
      }),
      transports,
      config: {
        ...{ values: config, sources: Object.fromEntries(sources), written },
        ...{ live: LIVE_SETTINGS, settings: HUB_SETTINGS },
      },
      importDocument: moving.imports.servers,
      ...{ version: manifest.version, startedAtMs, draining: () => draining },
      ...healthDeps({ loaded, store, locks: { lock, databaseLock }, hubLog, plugins, reserve, sandbox }),
      features: {
        ...{ legacyMcp: true, modernMcp: true, sandbox: sandbox.level === 'full' },
        assistant: assistant.enabled,
      },
    }),
  })
  // Before the first request, which would find no server.
  await connections.load()
  const { port, address } = http.listen()
  ownPorts = [String(port)]
  services.listens = address.replace('//0.0.0.0:', '//localhost:').replace('//[::]:', '//localhost:')
  undo.defer(() => http.stop(false))
  // Near the end, so that a failed start leaves the data folder unchanged.
  undo.use(await UptimeFile.open(dataDir, meters.uptime, log))
  await connections.begin()
  await alerts.begin()
  await assistant.begin()
  for (const note of sandbox.notes) log.warn('The sandbox does not hold everything here', { note })
  const { level, detail: why } = sandbox
  if (level !== 'full')
    log.warn('Ordinary users cannot run commands: there is no sandbox here', { sandbox: level, why })
  log.info('The hub is running', { address, port, sandbox: sandbox.level, settings: loaded.settings.path })

  return {
    address,
    config,
    registry,
    auth,
    bus,
    log,
    setupToken,
    takenOver: takenOver(databaseLock),
    inPlace: () => lock.inPlace(),
    reopenLog: () => hubLog.reopen(),
    async stop() {
      draining = true
      log.info('The hub is stopping: calls in flight may finish')
      const parts = [mcp.drain(LIMITS.drainMs), connections.drain(LIMITS.drainMs), assistant.stop(LIMITS.drainMs)]
      await Promise.all(parts)
      await http.stop(true)
      await undo.disposeAsync()
    },
  }
}
