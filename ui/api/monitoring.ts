/** A unit of the hub's numbers. */
export type MetricUnit = 'ms' | 'ratio' | 'per_second' | 'count' | 'any'

/** Average and percentiles in milliseconds; null: nothing was measured. */
export interface Times {
  readonly avg: number | null
  readonly p95: number | null
  readonly p99: number | null
}

/** A step of the calls over time; a step without calls is missing. */
export interface MetricStep extends Times {
  readonly timestamp: string
  readonly requests: number
  readonly errors: number
}

/** `GET /api/monitoring/metrics`. */
export interface Metrics {
  readonly from: string
  readonly to: string
  readonly metrics: {
    readonly requests: {
      readonly total: number
      readonly success: number
      readonly errors: number
      readonly rate: number
    }
    readonly system: { readonly memoryUsage: string; readonly cpuUsage: string; readonly uptime: string }
  }
  readonly responseTimeMetrics: Readonly<Record<'server_startup' | 'tool_execution' | 'api_requests', Times>>
  readonly series?: readonly MetricStep[]
}

/** A problem that needs an action. */
export interface Attention {
  readonly kind:
    | 'server_offline'
    | 'server_failing'
    | 'rule_failing'
    | 'sink_failing'
    | 'plugin_failed'
    | 'settings_problem'
  readonly subject: string
  /** Code of the problem, if there is one; for a setting, the code of its field. */
  readonly code?: string
  readonly message: string
  readonly since?: string
}

/** An alert as the overview lists it. */
export interface FiringAlert {
  readonly id: string
  readonly rule: string
  readonly severity: string
  readonly condition: string
  readonly server?: string
  readonly tool?: string
  readonly state: string
  readonly startsAt?: string
  readonly value?: number | string | null
  readonly ackedAt?: string
}

/** `GET /api/monitoring/overview`. */
export interface Overview {
  readonly from: string
  readonly to: string
  readonly servers: {
    readonly total: number
    readonly online: number
    readonly connecting: number
    readonly offline: number
  }
  readonly tools: number
  readonly sessions: number
  readonly calls: Times & {
    readonly total: number
    readonly errors: number
    readonly rate: number
    readonly errorRate: number | null
  }
  readonly topUsers: readonly {
    readonly user: string
    readonly userId: string
    readonly requests: number
    readonly errors: number
  }[]
  readonly alerts: { readonly firing: number; readonly items: readonly FiringAlert[] }
  readonly attention: readonly Attention[]
}

/** A resource of the machine; null: not available, and `reasons` says why. */
export interface Amount {
  readonly used: string | null
  readonly total: string | null
  readonly usage: string | null
}

/** `GET /api/monitoring/resources`. */
export interface Resources {
  readonly cpu: { readonly usage: string | null; readonly cores: number; readonly loadAverage: readonly number[] }
  readonly memory: Amount
  readonly disk: Amount
  readonly network: {
    readonly bytesIn: number | null
    readonly bytesOut: number | null
    readonly connectionsActive: number
  }
  readonly reasons: Readonly<Record<string, string>>
}

/** A call, of `GET /api/monitoring/activity`. */
export interface ActivityCall {
  readonly timestamp: string
  readonly user: { readonly id: string; readonly name: string }
  readonly group?: string
  readonly server?: string
  readonly tool: string
  readonly status: string
  /** Duration; the longest one in a record of several calls. */
  readonly duration: number
  /** Number of calls in a record of several. */
  readonly count?: number
  /** Absent for many calls. */
  readonly requestId?: string
}

/** A widget as it is kept. */
export interface Widget {
  readonly type: 'metric' | 'chart' | 'table'
  readonly title?: string
  readonly query: string
}

/** Data of a widget; its members depend on its type. */
export interface WidgetAnswer {
  readonly unit?: MetricUnit
  readonly value?: number | null
  /** Start of the time that a chart covers. */
  readonly from?: string
  readonly to?: string
  readonly stepMs?: number
  readonly series?: readonly {
    readonly label: string
    readonly points: readonly (readonly [string, number | null])[]
  }[]
  readonly columns?: readonly { readonly name: string; readonly unit?: MetricUnit }[]
  readonly rows?: readonly (readonly (string | number | null)[])[]
}

/** A dashboard. */
export interface Dashboard {
  readonly ref: string
  readonly name: string
  readonly owner?: string
  readonly builtIn: boolean
  readonly origin?: string
  readonly revision?: number
  readonly widgets: readonly Widget[]
}

/** `GET /api/monitoring/dashboards/{ref}/data`. */
export interface DashboardData {
  readonly dashboard: string
  readonly timestamp: string
  readonly widgets: readonly (Widget &
    WidgetAnswer & { readonly error?: { readonly code: string; readonly message: string } })[]
}
