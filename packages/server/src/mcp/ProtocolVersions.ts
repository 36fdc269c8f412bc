/**
 * Revisions of the Model Context Protocol that are spoken here, by their days. Those with a handshake agree on one in
 * `initialize`; from 2026-07-28 on each request says its own.
 */

/** Oldest first. */
export const handshakeVersions: ReadonlyArray<string> = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
export const latestHandshakeVersion = handshakeVersions.at(-1)!

export const statelessVersion = "2026-07-28"

/** Newest first, as a client would choose. */
export const supportedVersions: ReadonlyArray<string> = [statelessVersion, ...handshakeVersions.toReversed()]

/** From this one on a body is one message. */
const firstWithoutBatches = "2025-06-18"
/** Of clients that name none (MCP 2025-06-18, transports). */
const assumedVersion = "2025-03-26"

export const hasBatches = (protocolVersion: string = assumedVersion): boolean => protocolVersion < firstWithoutBatches
