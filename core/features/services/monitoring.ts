declare module '../../contract/points.ts' {
  interface ExtensionPoints {
    healthCheck: HealthCheck
    metric: MetricSource
  }
}

declare module '../../contract/plugin.ts' {
  interface PluginDefinition<Config> {
    /**
     * Members of `checks` in the answer of `/health`, by name; a contribution `healthCheck` of that id says the state. Of bundled
     * plugins alone.
     */
    readonly healthChecks?: Readonly<Record<string, HealthCheckKind>>
    /**
     * Metrics of `/metrics`, by name without `patchbay_`; a contribution `metric` of that id has the numbers. Of bundled plugins
     * alone: others have `context.metrics`.
     */
    readonly metrics?: Readonly<Record<string, MetricKind>>
    /** Names of components, besides `plugin:<name>`, whose log level can be set. Of bundled plugins alone. */
    readonly logComponents?: readonly string[]
  }
}

/** A check of `/health`. */
export interface HealthCheckKind {
  /** The possible states; the first means that all is well. */
  readonly states: readonly [string, ...string[]]
  /** States in which the hub is `degraded`. It still answers with status 200. */
  readonly degraded: readonly string[]
  /** The state while nothing contributes one. */
  readonly absent: string
}

/** The state of one part of the hub, which is asked at each request of `/health`: anybody may send one. */
export interface HealthCheck {
  state(): HealthState
}

/** One of the states of the kind. `fault`: a code of the errors and a sentence without paths, shown as `{name}Fault`. */
export type HealthState = Readonly<{ state: string; fault?: Readonly<{ code: string; message: string }> }>

/** A metric in the form of Prometheus. */
export interface MetricKind {
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** The numbers while nothing contributes any. */
  readonly absent: readonly MetricNumber[]
}

/** The numbers of one metric, asked at each scrape, once a second at most. */
export interface MetricSource {
  numbers(): readonly MetricNumber[] | Promise<readonly MetricNumber[]>
}

/** One number of a metric. */
export type MetricNumber = Readonly<{ value: number; labels?: Readonly<Record<string, string>> }>
