/**
 * The least Ceph that serves S3: one monitor, one store in memory that has no copy of itself, no manager. It listens on
 * loopback alone, so nobody has to be told apart; the gateway checks signatures as ever.
 */
export function clusterSettings(at: { folder: string; fsid: string; monPort: number; port: number }): string {
  const settings: Record<string, string | number | boolean> = {
    fsid: at.fsid,
    mon_host: `[v2:127.0.0.1:${at.monPort}/0]`,
    public_addr: '127.0.0.1',
    cluster_addr: '127.0.0.1',
    ms_bind_ipv6: false,
    auth_cluster_required: 'none',
    auth_service_required: 'none',
    auth_client_required: 'none',
    // The gateway would insist on a secure one, which there is not without keys.
    ms_mon_client_mode: 'crc',
    run_dir: `${at.folder}/run`,
    admin_socket: '',
    pid_file: '',
    log_file: '/dev/null',
    mon_cluster_log_to_file: false,
    log_to_stderr: false,
    err_to_stderr: true,
    mon_data: `${at.folder}/mon`,
    mon_data_avail_crit: 1,
    mon_allow_pool_size_one: true,
    // Decisions are not put together over a second, as in a real cluster: that would be felt at each of many.
    paxos_propose_interval: 0.05,
    paxos_min_wait: 0.01,
    ms_initial_backoff: 0.05,
    osd_data: `${at.folder}/osd`,
    osd_objectstore: 'memstore',
    memstore_device_bytes: 8 * 1024 ** 3,
    osd_max_object_name_len: 1024,
    osd_crush_chooseleaf_type: 0,
    osd_pool_default_size: 1,
    osd_pool_default_min_size: 1,
    osd_pool_default_pg_num: 1,
    osd_pool_default_pgp_num: 1,
    osd_pool_default_pg_autoscale_mode: 'off',
    rgw_frontends: `beast endpoint=127.0.0.1:${at.port} tcp_nodelay=1`,
    rgw_run_sync_thread: false,
    // What is removed is gone soon, since all of it is in memory.
    rgw_gc_obj_min_wait: 20,
    rgw_gc_processor_period: 20,
  };
  return ['[global]', ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`), ''].join(
    '\n',
  );
}
