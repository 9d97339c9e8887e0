import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** What stands on a cluster beside records: topics with their own configs, and ACLs. */
final class Describer {
    /** Every topic (or those of `topics`) with its partition count and what was set for the topic itself. */
    static JsonNode topics(JsonNode request) throws Exception {
        return Administrator.with(request, admin -> {
            Collection<String> names = new ArrayList<>();
            request.path("topics").forEach(name -> names.add(name.asText()));
            if (names.isEmpty()) {
                names.addAll(admin.listTopics().names().get());
            }
            Map<String, TopicDescription> described = admin.describeTopics(names).allTopicNames().get();
            List<ConfigResource> asked = names.stream().map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name)).toList();
            ObjectNode answer = Oracle.JSON.createObjectNode();
            admin.describeConfigs(asked).all().get().forEach((resource, config) -> {
                ObjectNode topic = answer.putObject(resource.name()).put("partitions", described.get(resource.name()).partitions().size());
                ObjectNode own = topic.putObject("configs");
                config.entries().stream()
                    .filter(entry -> entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG)
                    .sorted(Comparator.comparing(ConfigEntry::name))
                    .forEach(entry -> own.put(entry.name(), entry.value()));
            });
            return answer;
        });
    }

    /** Every ACL binding, in the words of createAcls. */
    static JsonNode acls(JsonNode request) throws Exception {
        return Administrator.with(request, admin -> {
            ArrayNode rows = Oracle.JSON.createArrayNode();
            for (AclBinding binding : admin.describeAcls(AclBindingFilter.ANY).values().get()) {
                rows.addObject()
                    .put("type", binding.pattern().resourceType().name())
                    .put("name", binding.pattern().name())
                    .put("pattern", binding.pattern().patternType().name())
                    .put("principal", binding.entry().principal())
                    .put("host", binding.entry().host())
                    .put("operation", binding.entry().operation().name())
                    .put("permission", binding.entry().permissionType().name());
            }
            return rows;
        });
    }

    private Describer() {
    }
}
