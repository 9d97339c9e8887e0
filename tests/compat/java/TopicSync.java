package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeAclsResult;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** What MirrorSourceConnector would send to the target's admin client for configs and ACLs that the request gives as the source's. */
final class TopicSync {
    /** Thrown by the target's admin client with the first argument of what it is asked to do. */
    private static final class Asked extends RuntimeException {
        private static final long serialVersionUID = 1;

        private final transient Object request;

        private Asked(Object request) {
            this.request = request;
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    /** Entries of one topic: what it is created with, and what is set (a text) or taken away (null) later. */
    static JsonNode configs(JsonNode request) throws Exception {
        try (DefaultConfigPropertyFilter filter = new DefaultConfigPropertyFilter()) {
            filter.configure(Peer.strings(request.required("properties")));
            MirrorSourceConnector connector = connector(new DefaultTopicFilter(), filter, null);
            List<ConfigEntry> entries = new ArrayList<>();
            for (JsonNode row : request.required("entries")) {
                entries.add(new ConfigEntry(
                    row.required("name").asText(), row.required("value").isNull() ? null : row.required("value").asText(),
                    ConfigEntry.ConfigSource.valueOf(row.required("source").asText()), row.required("sensitive").asBoolean(),
                    row.required("read_only").asBoolean(), List.of(), ConfigEntry.ConfigType.STRING, null));
            }
            ObjectNode answer = Peer.JSON.createObjectNode();
            ObjectNode created = answer.putObject("created");
            MirrorSourceConnector.configToMap(connector.targetConfig(new Config(entries), false)).forEach(created::put);
            ObjectNode synced = answer.putObject("synced");
            @SuppressWarnings("unchecked")
            var changes = (Map<ConfigResource, Collection<AlterConfigOp>>) sent(() ->
                connector.incrementalAlterConfigs(Map.of("topic", connector.targetConfig(new Config(entries), true))));
            changes.get(new ConfigResource(ConfigResource.Type.TOPIC, "topic")).forEach(change -> synced.put(
                change.configEntry().name(), change.opType() == AlterConfigOp.OpType.DELETE ? null : change.configEntry().value()));
            return answer;
        }
    }

    /** Bindings of the source: those that are created on the target. */
    static JsonNode acls(JsonNode request) throws Exception {
        List<AclBinding> found = new ArrayList<>();
        for (JsonNode row : request.required("acls")) {
            found.add(new AclBinding(
                new ResourcePattern(ResourceType.TOPIC, row.get(0).asText(), PatternType.LITERAL),
                new AccessControlEntry(
                    row.get(1).asText(), row.get(2).asText(), AclOperation.valueOf(row.get(3).asText()), AclPermissionType.valueOf(row.get(4).asText()))));
        }
        try (DefaultTopicFilter filter = new DefaultTopicFilter()) {
            filter.configure(Peer.strings(request.required("properties")));
            ArrayNode answer = Peer.JSON.createArrayNode();
            MirrorSourceConnector connector = connector(filter, new DefaultConfigPropertyFilter(), found);
            for (Object each : (Collection<?>) sent(connector::syncTopicAcls)) {
                AclBinding binding = (AclBinding) each;
                answer.addArray()
                    .add(binding.pattern().name()).add(binding.entry().principal()).add(binding.entry().host())
                    .add(binding.entry().operation().name()).add(binding.entry().permissionType().name());
            }
            return answer;
        }
    }

    private static MirrorSourceConnector connector(TopicFilter topics, ConfigPropertyFilter configs, Collection<AclBinding> acls) throws Exception {
        DefaultReplicationPolicy policy = new DefaultReplicationPolicy();
        policy.configure(Map.of());
        MirrorSourceConnector connector = new MirrorSourceConnector(new SourceAndTarget("east", "west"), policy, topics, configs);
        set(connector, "targetAdminClient", admin(null));
        set(connector, "sourceAdminClient", admin(acls));
        return connector;
    }

    private static Object sent(Step step) throws Exception {
        try {
            step.run();
        } catch (RuntimeException failure) {
            for (Throwable each = failure; each != null; each = each.getCause()) {
                if (each instanceof Asked asked) {
                    return asked.request;
                }
            }
            throw failure;
        }
        throw new IllegalStateException("The target was asked for nothing");
    }

    private static Admin admin(Collection<AclBinding> acls) {
        return (Admin) Proxy.newProxyInstance(Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("describeAcls")) {
                var constructor = DescribeAclsResult.class.getDeclaredConstructor(KafkaFuture.class);
                constructor.setAccessible(true);
                return constructor.newInstance(KafkaFuture.completedFuture(acls));
            }
            throw new Asked(arguments[0]);
        });
    }

    private static void set(Object object, String name, Object value) throws Exception {
        Field field = MirrorSourceConnector.class.getDeclaredField(name);
        field.setAccessible(true);
        field.set(object, value);
    }

    private TopicSync() {
    }
}
