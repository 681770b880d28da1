import { PROGRAM_FOLDER } from '../../domain/server/programs.ts'

/** For `uv run` of a stored program: its packages are installed, its folder is read-only, and nothing is downloaded. */
export const PROJECT_ENV = {
  ...{ UV_OFFLINE: '1', UV_NO_SYNC: '1', UV_FROZEN: '1', UV_NO_CONFIG: '1', UV_PYTHON_DOWNLOADS: 'never' },
  ...{ UV_PROJECT_ENVIRONMENT: `${PROGRAM_FOLDER}/.venv`, UV_CACHE_DIR: '/tmp/uv' },
} as const
