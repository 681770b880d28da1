import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { TransportContribution } from '../../contract/points.ts'
import type { HealthCheck, ServerSettings } from '../../contract/records.ts'
import type { AddressRights } from '../../domain/address.ts'
import { SHARED_APPS } from '../../domain/client-capabilities.ts'
import { FairTurns } from '../../domain/fair-turns.ts'
import { isProjectRun } from '../../domain/program/project-run.ts'
import { RESULT_BYTES } from '../../domain/result-bytes.ts'
import { readPackageRun } from '../../domain/server/package-run.ts'
import type { OpenPrograms, StoredProgram } from '../../domain/server/programs.ts'
import { spawnPolicy } from '../../domain/server/spawn-policy.ts'
import { asksCallers, canBeAsked, type ServerFace } from '../../domain/session-scope.ts'
import { visibleText } from '../../domain/text/visible-text.ts'
import type { CredentialSource, HeaderProvider } from '../../features/credentials.ts'
import type { AuditEntry, EffectiveServer } from '../../registry/api.ts'
import { secretParts } from '../../secrets/parts.ts'
import type { ServerRedactors } from '../../secrets/server-redactors.ts'
import type { LinkLimits, Liveness } from '../protocol.ts'
import { resolveInside } from '../sandbox/command.ts'
import type { Sandbox, SandboxPolicy } from '../sandbox/sandbox.ts'
import type { Child, Children } from '../spawn/children.ts'
import type { PackageInstaller } from '../spawn/package-installer.ts'
import type { ProgramCopies } from '../spawn/program-copies.ts'
import { PROJECT_ENV } from '../spawn/project-env.ts'
import { carriedCredential, withUserValues } from './carried-credential.ts'
import { Connection } from './connection.ts'
import { CredentialUses } from './credential-uses.ts'
import type { LaunchOptions, LaunchPlan, PlannedChild } from './launch-plan.ts'
import { lentHeaders, NOTHING_LENT, withHeaders } from './lent-headers.ts'
import type { WorkerPool } from './pool.ts'
import type { WorkerPort } from './port.ts'

/** Milliseconds from the start of a process, or of a dial, until the handshake must have succeeded, unless configured. */
const PROCESS_START_MS = 60_000
const DIAL_START_MS = 30_000
/** Failed exchanges are checked by a probe even when periodic health checks are off. */
const UNWATCHED: Liveness = { intervalMs: 0, timeoutMs: 5_000, misses: 2, always: false }

/** The parts that a `Launcher` uses; the same for all servers. */
export interface LauncherOptions {
  readonly pool: WorkerPool
  readonly redactors: Pick<ServerRedactors, 'hold'>
  readonly children: Children
  readonly stdioPolicy: 'sandboxed' | 'admin' | 'off'
  readonly sandbox: Sandbox
  readonly installer: PackageInstaller
  readonly programs: OpenPrograms
  readonly copies: ProgramCopies
  /** Number of enabled stdio servers of an owner. */
  readonly stdioServersOf: (ownerId: string) => number
  /** The addresses to which an owner's servers may connect, as of now. */
  readonly rightsOf: (ownerId: string) => Promise<AddressRights>
  readonly audit: (entry: AuditEntry) => void
  readonly rights: (admin: boolean) => AddressRights
  readonly hubVersion: string
  readonly transports: () => ReadonlyMap<string, TransportContribution>
  readonly headerProviders: () => ReadonlyMap<string, HeaderProvider>
  readonly credentialSources: () => ReadonlyMap<string, CredentialSource>
  /** Replaces every start deadline, in milliseconds; for tests. */
  readonly startTimeoutMs?: number
  /** Replaces the two start deadlines above for servers without one of their own, in milliseconds. */
  readonly usualStartTimeoutMs?: number
}

/** Opens connections: asks the policy before every process, the header providers before every dial. */
export class Launcher {
  readonly #turns = new FairTurns()
  readonly #uses = new CredentialUses()
  readonly #options: LauncherOptions
  #lastNumber = 0

  constructor(options: LauncherOptions) {
    this.#options = options
  }

  /**
   * Checks everything that can be rejected before a process starts or an address is dialled. `callerId`: the user
   * whose credential the connection carries. Default: the owner. Throws HubError.
   */
  async prepare(serverId: string, effective: EffectiveServer, callerId?: string): Promise<LaunchPlan> {
    const { settings, ownerId, ownerRole, secrets } = effective
    const { redactors } = this.#options
    // First, since the reason of a rejection may quote the configuration.
    redactors.hold(serverId, secrets)
    const contribution = this.#contribution(settings.transport)
    const child = contribution.child?.(settings.config)
    if (child) this.#requireProgram(settings)
    const confinement = child && this.#confinement(effective)
    const lent = child
      ? NOTHING_LENT
      : await lentHeaders(this.#options.headerProviders(), { id: serverId, ownerId }, settings)
    const userId = callerId !== undefined && asksCallers(settings) ? callerId : ownerId
    const target = { id: serverId, ownerId }
    const sources = this.#options.credentialSources
    const credential = await carriedCredential(sources, target, settings, lent.headers, userId)
    const ofServer = redactors.hold(serverId, secrets, Object.values(lent.headers).flatMap(secretParts))
    const env = credential?.env ?? {}
    const redactor = withUserValues(ofServer, Object.values(env))
    const isLent = Object.keys(lent.headers).length > 0
    const config = isLent ? withHeaders(settings.config, lent.headers) : settings.config
    return {
      serverId,
      settings,
      module: contribution.module,
      kind: contribution.kind ?? 'messages',
      modern: contribution.modern === true,
      ...(effective.askedVersion === undefined ? {} : { askedVersion: effective.askedVersion }),
      config,
      lent,
      ...(credential && !child ? { credential } : {}),
      ...(effective.document ? { readDocument: effective.document } : {}),
      child: child && {
        serverId,
        ...child,
        env: { ...child.env, ...env },
        ...(confinement ? { confinement } : {}),
        redact: redactor.text.bind(redactor),
      },
      redactor,
      ownerId,
      admin: ownerRole === 'admin',
      startTimeoutMs: this.#startTimeoutMs(settings, child !== undefined),
      installs:
        this.#options.startTimeoutMs === undefined &&
        child !== undefined &&
        !confinement &&
        readPackageRun(child.command, child.args) !== undefined,
    }
  }

  #startTimeoutMs({ startTimeoutMs }: ServerSettings, isProgram: boolean): number {
    const { startTimeoutMs: fixed, usualStartTimeoutMs: usual } = this.#options
    return fixed ?? startTimeoutMs ?? usual ?? (isProgram ? PROCESS_START_MS : DIAL_START_MS)
  }

  /**
   * Installs the packages of a package runner's command in the sandbox; the returned plan runs their program. Ends
   * early once `wanted` returns false. Other plans are returned unchanged.
   */
  async ready(plan: LaunchPlan, wanted: () => boolean): Promise<LaunchPlan> {
    const { child, serverId, ownerId, settings } = plan
    const confinement = child?.confinement
    const stored = this.#options.programs.of(settings.config)
    if (child && stored) return this.#unpacked(plan, child, stored, wanted)
    const run = confinement && readPackageRun(child.command, child.args)
    if (!run) return plan
    this.#checkQuota(plan)
    const { command } = await this.#options.installer.ensure({ serverId, confinement, run }, wanted, installed =>
      this.#options.audit({
        ...{ action: 'package.install', target: settings.name, ownerId },
        detail: {
          ...{ serverId, runner: run.runner },
          asked: run.specs.map(spec => plan.redactor.text(spec)),
          installed: plan.redactor.text(installed),
        },
      }),
    )
    const [program = '', ...first] = command
    const args = [...first, ...run.args]
    return { ...plan, child: { ...child, command: program, args, confinement: { ...confinement, packages: 'use' } } }
  }

  /** Throws while the plugin that stores the program of a server does not run. */
  #requireProgram({ config }: ServerSettings): void {
    const stored = this.#options.programs.of(config)
    if (stored) this.#options.programs.source(stored)
  }

  /** The plan with its program unpacked, and what a project for uv needs installed. */
  async #unpacked(
    plan: LaunchPlan,
    child: NonNullable<LaunchPlan['child']>,
    stored: StoredProgram,
    wanted: () => boolean,
  ): Promise<LaunchPlan> {
    const { serverId } = plan
    const { confinement } = child
    if (!confinement) throw new HubError('stdio_not_permitted', 'A stored program runs inside the sandbox only')
    this.#checkQuota(plan)
    const isProject = isProjectRun(child.command, child.args)
    // Before anything is unpacked, which would be done again at each start.
    if (isProject) resolveInside(child.command)
    const { copies, installer } = this.#options
    const enclosed = { ...confinement, program: stored }
    await copies.ensure({ confinement, program: stored }, async () => {
      if (isProject) await installer.installProject({ serverId, confinement: enclosed }, wanted)
    })
    const env = isProject ? { ...PROJECT_ENV, ...child.env } : child.env
    return { ...plan, child: { ...child, env, confinement: { ...enclosed, packages: 'use' } } }
  }

  /**
   * The plan with its inline document read. Call it while holding a start slot, so that no more documents are in memory
   * than servers may start at once. Throws storage errors, and `config_invalid` when the document was deleted.
   */
  async withDocument(plan: LaunchPlan): Promise<LaunchPlan> {
    return plan.readDocument ? { ...plan, document: await plan.readDocument() } : plan
  }

  /** Starts the process, if there is one, and the link. Throws HubError when the process cannot be started. */
  launch(plan: LaunchPlan, options: LaunchOptions): Connection {
    const { pool, rights } = this.#options
    const { settings } = plan
    const { session, offers = SHARED_APPS } = options
    const isolated = settings.isolate || options.isolate === true
    const port = isolated ? pool.placeAlone({ ...plan, name: settings.name }, plan.module) : pool.place(plan.module)
    const child = plan.child && this.#spawnFor(port, plan, plan.child, session)
    this.#lastNumber += 1
    const connection: Connection = new Connection({
      number: this.#lastNumber,
      port,
      child,
      credential: plan.credential,
      events: options.events,
      era: options.era,
      hubVersion: this.#options.hubVersion,
      redact: text => visibleText(plan.redactor.text(text)),
      variables: settings.variables,
      turns: work => this.#turns.add(plan.ownerId, work),
      released: () => {
        this.#uses.remove(connection.credential)
        pool.released(port)
      },
    })
    if (connection.credential) this.#uses.add(connection.credential)
    connection.open({
      name: settings.name,
      module: plan.module,
      kind: plan.kind,
      config: plan.config,
      secrets: plan.redactor.secrets,
      ...(plan.document ? { document: plan.document } : {}),
      capabilities: offers,
      owner: plan.ownerId,
      ...(plan.askedVersion === undefined ? {} : { askedVersion: plan.askedVersion }),
      takesServerRequests: session !== undefined && canBeAsked(offers),
      ...limitsOf(settings),
      startTimeoutMs: plan.startTimeoutMs,
      // Only the connection that reads the lists checks the server's health, not every caller's.
      healthEndpoints: options.catalog ? healthEndpointsOf(settings.healthCheck) : [],
      catalog: options.catalog,
      ...(options.era === 'modern' && !child && options.knownTools ? { knownTools: options.knownTools } : {}),
      rights: rights(plan.admin),
      ...(plan.credential ? { credential: plan.credential.carried } : {}),
      ...(plan.lent.redirects ? { redirects: plan.lent.redirects } : {}),
    })
    return connection
  }

  /** Gives a user's open connections to a server the present headers. Never rejects. */
  credentialRenewed(serverId: string, userId: string): Promise<void> {
    return this.#uses.renew(serverId, userId)
  }

  /** The kind of server that a transport connects to; undefined while no plugin offers the transport. */
  kindOf(transport: string): ServerFace['kind'] {
    const found = this.#find(transport)
    if (!found) return undefined
    return found.kind === 'answers' ? 'answers' : found.child ? 'process' : 'remote'
  }

  #find(transport: string): TransportContribution | undefined {
    const all = this.#options.transports()
    return all.get(transport) ?? [...all.values()].find(candidate => candidate.transport === transport)
  }

  #contribution(transport: string): TransportContribution {
    const found = this.#find(transport)
    if (found) return found
    const hint = 'Enable the plugin that brings it.'
    throw new HubError('transport_unavailable', `No plugin offers the transport "${transport}"`, { hint })
  }

  /** The sandbox policy of the process; undefined: no sandbox. Throws when the stdio policy forbids the start. */
  #confinement({ settings, ownerId, ownerRole, ownerNumber, ownerGrants }: EffectiveServer): SandboxPolicy | undefined {
    const { stdioPolicy, sandbox } = this.#options
    const verdict = spawnPolicy({
      policy: stdioPolicy,
      level: sandbox.level,
      ownerRole,
      grants: ownerGrants,
      config: settings.config,
      stored: this.#options.programs.of(settings.config) !== undefined,
    })
    if (verdict.sandbox === 'off') return undefined
    const { network, cwd } = verdict
    // Never more than the server's own rights, which may be fewer than its owner's.
    const rights = async () => {
      const now = await this.#options.rightsOf(ownerId)
      return { ...now, admin: now.admin && ownerRole === 'admin' }
    }
    return { ownerId, ownerNumber, ownerStdioServers: this.#options.stdioServersOf(ownerId), network, cwd, rights }
  }

  /** Starts the process; when that fails, releases the thread that was reserved for the connection. */
  #spawnFor(port: WorkerPort, plan: LaunchPlan, spec: PlannedChild, session: LaunchOptions['session']) {
    try {
      return this.#spawn(plan, spec, session)
    } catch (error) {
      this.#options.pool.released(port)
      throw error
    }
  }

  /** Starts the process of a plan. Throws `quota_servers` when its owner, or the user of its session, has reached the limit. */
  #spawn(plan: LaunchPlan, spec: PlannedChild, session: LaunchOptions['session']): Child {
    const { children, audit } = this.#options
    const { ownerId, settings, serverId } = plan
    const foreignUserId = session?.userId === ownerId ? undefined : session?.userId
    this.#checkQuota(plan, foreignUserId)
    if (foreignUserId !== undefined) this.#checkForeignQuota(plan, foreignUserId)
    const child = children.spawn({
      ...spec,
      ...(session ? { sessionId: session.key } : {}),
      ...(foreignUserId === undefined ? {} : { foreignUserId }),
    })
    const network = spec.confinement?.network
    const how = network === undefined ? { sandbox: 'off', network: 'host' } : { sandbox: 'full', network }
    audit({ action: 'process.start', target: settings.name, ownerId, detail: { serverId, pid: child.pid, ...how } })
    return child
  }

  /** The sessions of others have what the owner leaves, and take nothing that the owner may have. */
  #checkQuota({ admin, ownerId, settings }: LaunchPlan, foreignUserId?: string): void {
    const running = this.#options.children.confinedFor(ownerId, foreignUserId === undefined ? 'own' : 'all')
    const message = `Cannot start "${settings.name}": ${running} processes of its owner run, the most that may`
    if (!admin && running >= LIMITS.liveStdioPerUser)
      throw new HubError('quota_servers', message, { hint: 'Stop another server that runs a command.' })
  }

  #checkForeignQuota({ settings }: LaunchPlan, userId: string): void {
    const most = LIMITS.foreignProcessesPerUser
    if (this.#options.children.foreignFor(userId) < most) return
    const message = `Cannot start "${settings.name}" for one more session: ${most} processes of other owners' servers run for this user, the most that may`
    throw new HubError('quota_servers', message, { hint: 'End a session of another client.' })
  }
}

function healthEndpointsOf({ enabled, endpoints = {} }: HealthCheck): readonly string[] {
  return enabled ? [endpoints.ping, endpoints.tools].filter(path => path !== undefined) : []
}

/** The limits that can be changed on an open connection, as configured. */
export function limitsOf({ timeoutMs, maxTimeoutMs, maxResultBytes, healthCheck }: ServerSettings): LinkLimits {
  const { enabled, interval, timeout, retries } = healthCheck
  const liveness = { intervalMs: interval, timeoutMs: timeout, misses: Math.max(1, retries), always: false }
  const limits = { timeoutMs, maxTimeoutMs, maxResultBytes: maxResultBytes ?? RESULT_BYTES.usual }
  return { ...limits, liveness: enabled ? liveness : UNWATCHED }
}
